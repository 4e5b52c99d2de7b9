"""The long tail of providers, asked through litellm in a child process (spec 5, R1 and R1a)."""
