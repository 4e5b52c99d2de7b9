"""Sessions: front ends call ``service``.

- ``turn``: the loop, its steps, the stream of a response and the executor of tool calls;
- ``context``: the content of requests, and its size in tokens;
- compaction: ``turn.compactor`` summarizes old messages before a step that would not fit,
  ``user_compaction`` on the user's request; ``context.compaction_markers`` reads the result;
- ``prompt``: the system prompt, instructions, attachments and slash commands;
- ``queue``, ``turn_runner``: queued messages, and one turn at a time;
- ``undo``, ``snapshots``: reverting prompts with the files they changed;
- ``subagents``, ``review``: sub-agents, and reading past sessions.
"""
