"""What every tool builds on: the base protocol, arguments, schemas and truncation."""
