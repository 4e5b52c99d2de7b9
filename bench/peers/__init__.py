"""Other terminal agents next to ours: ``python -m bench.peers``."""
