"""The analysis of a shell command line: its programs, paths, redirects and effects."""
