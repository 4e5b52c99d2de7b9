"""Files for tools: paths, text, pages, changes, patches, attachments.

``agent.files`` reads and replaces the files themselves.
"""
