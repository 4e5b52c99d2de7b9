"""Files for tools: paths, text, pages, changes, patches and attachments."""
