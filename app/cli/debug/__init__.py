"""``opencode-py debug …``: what the program knows and how it decides, for people and scripts."""
