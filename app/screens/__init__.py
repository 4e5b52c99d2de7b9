"""The screens and dialogs of the terminal interface: base/, session/, sessions/, permission/,
review/, and one module for each small screen."""
