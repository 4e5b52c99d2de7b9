"""Trust in a folder: the files and programs of a project that act as the user."""
