"""The runtime of a session on a server: this program's own, or opencode's."""
