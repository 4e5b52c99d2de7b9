"""Settings: discovery of config files, parsing, validation and merging."""
