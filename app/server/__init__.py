"""The HTTP server: opencode's API for editors, bots, browsers and its own web page."""
