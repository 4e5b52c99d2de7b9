"""The sandbox of commands: its level by how a call was allowed, and its policy for a folder."""
