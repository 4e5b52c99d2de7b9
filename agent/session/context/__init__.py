"""The context window: token estimates, compaction, pruning, pins and request turns."""
