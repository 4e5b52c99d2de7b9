"""The composition root: every service of one opened folder, and runs without a screen."""
