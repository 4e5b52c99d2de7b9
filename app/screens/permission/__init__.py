"""Permission dialogs, questions and trust."""
