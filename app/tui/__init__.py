"""The Textual application between the runtime and the screens."""
