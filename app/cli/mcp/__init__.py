"""``opencode-py mcp``: the servers of the settings (spec 11, F4)."""
