"""Base screens: dialogs, pages, pickers and text input."""
