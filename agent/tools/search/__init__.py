"""Searching a project: the file index, globs, ignore rules and the search worker."""
