"""The main screen: a session, the prompt and the status line."""
