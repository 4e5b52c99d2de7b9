"""Settings: where files lie, how they are read, merged and checked (spec 10.1)."""
