"""``opencode-py agent``: what agents there are, and making one."""
