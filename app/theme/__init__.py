"""Colors, themes and appearance preferences."""
