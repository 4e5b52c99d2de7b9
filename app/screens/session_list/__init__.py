"""The list of sessions, with search and preview."""
