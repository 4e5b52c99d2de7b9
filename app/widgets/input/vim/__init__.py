"""Vim's keys for the prompt, without any widget (spec 8, U7)."""
