"""Text for people: sanitizing untrusted text, excerpts, fuzzy matching, amounts and durations."""
