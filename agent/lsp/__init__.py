"""Language servers, and formatters that run after a file was edited."""
