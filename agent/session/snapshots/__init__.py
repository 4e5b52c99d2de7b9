"""Snapshots of the files of a project, for undo and change lists."""
