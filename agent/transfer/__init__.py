"""Sessions in and out: exports to read or keep, and imports of ours and of opencode's."""
