"""The policy of the sandbox of commands: its level by how a call was allowed, folders and files.

``agent.process.sandbox`` has the operating system enforce it.
"""
