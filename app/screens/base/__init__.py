"""Base screens: dialogs, pages, pickers, text input.

They name their stylesheet by absolute path, because Textual resolves an inherited ``CSS_PATH``
relative to the module of the subclass.
"""
