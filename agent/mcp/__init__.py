"""MCP servers: their tools, resources and prompts.

Only ``client``, ``transports``, ``oauth`` and ``login`` import the SDK. It is loaded in a thread
when the first server is started.
"""
