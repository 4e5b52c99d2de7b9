"""The base of all tools: protocol, arguments, schemas, truncation."""
