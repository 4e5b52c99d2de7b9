"""Shell commands for tools: background shells, output and exit codes."""
