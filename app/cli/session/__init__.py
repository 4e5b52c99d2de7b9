"""``opencode-py session``, ``export``, ``import`` and ``stats`` (spec 11, F4)."""
