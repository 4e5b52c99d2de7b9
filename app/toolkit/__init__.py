"""Adapters for Textual and the terminal."""
