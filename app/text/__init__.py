"""Sanitizing untrusted text; amounts, durations and excerpts."""
