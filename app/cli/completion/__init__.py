"""``opencode-py completion``: what a shell offers while a command is typed (spec 11, F4)."""
