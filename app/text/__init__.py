"""Text for users: sanitizing untrusted text, excerpts, links to files, dates."""
