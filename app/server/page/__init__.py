"""The web page's files."""
