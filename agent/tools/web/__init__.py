"""The web for tools: the HTTP client, allowed addresses and HTML to Markdown."""
