"""Text for users: sanitizing untrusted text, excerpts, fuzzy matching, amounts and durations."""
