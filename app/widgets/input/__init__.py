"""The prompt and what is typed into it."""
