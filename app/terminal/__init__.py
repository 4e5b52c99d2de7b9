"""Adapters for the terminal, and for Textual where it needs them: the driver, the parser of keys,
painting, the clipboard, the user's own editor, tasks."""
