"""The records of all known programs, by subject."""
