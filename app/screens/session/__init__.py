"""The main screen: a session."""
