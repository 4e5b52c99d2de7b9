"""Language servers and formatters (spec 10, X6 and X7)."""
