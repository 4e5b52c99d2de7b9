"""Shell commands for tools: background shells, output and exit codes.

``agent.process`` runs them; ``agent.permission.shell`` analyzes their lines.
"""
