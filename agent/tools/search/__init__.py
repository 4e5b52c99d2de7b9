"""Search in a project: file index, globs, ignore rules, search engines."""
