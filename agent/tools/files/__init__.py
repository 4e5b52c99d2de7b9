"""Files for tools: paths, text, pages, changes, patches, attachments."""
