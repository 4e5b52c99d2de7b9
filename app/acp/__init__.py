"""``opencode-py acp``: the Agent Client Protocol, for editors (spec 11, F3)."""
