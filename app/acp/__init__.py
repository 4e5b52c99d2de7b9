"""The Agent Client Protocol, which editors speak to the program."""
