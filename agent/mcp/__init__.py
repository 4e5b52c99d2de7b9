"""MCP servers: their tools, resources and prompts (spec 10.4).

Nothing in here but ``link`` and ``login`` imports the SDK, which is loaded in a thread when the
first server is started.
"""
