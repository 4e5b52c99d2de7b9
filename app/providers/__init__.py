"""``opencode-py auth`` and ``opencode-py models`` (spec 5, R10)."""
