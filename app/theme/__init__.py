"""Colors, themes and display preferences."""
