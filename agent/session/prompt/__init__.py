"""Prompts: the system prompt, instructions, attachments and slash commands."""
