"""One turn: its inbox, loop, steps, tool calls, compaction and end."""
