"""Vim's keys for the prompt, independent of any widget."""
