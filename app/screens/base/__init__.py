"""Base screens: dialogs, pages, pickers, text input."""
