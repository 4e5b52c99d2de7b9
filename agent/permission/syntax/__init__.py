"""Bash source: parsing, words and quoting."""
