"""``--plain``: the line-based interface, with its own commands."""
