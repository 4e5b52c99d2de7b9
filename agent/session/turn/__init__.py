"""One turn: its queued messages, loop, steps, tool calls, compaction and end."""
