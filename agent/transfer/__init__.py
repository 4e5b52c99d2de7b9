"""Export and import of sessions: documents to read, bundles to keep, imports from opencode."""
