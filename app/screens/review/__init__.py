"""The review of a past session: its timeline next to its transcript."""
