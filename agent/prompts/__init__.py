"""The system prompts, one text file for each family of models."""
