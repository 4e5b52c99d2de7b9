"""Widgets: transcript/ (the session), input/ (the prompt and other fields), and one module for each
small widget."""
