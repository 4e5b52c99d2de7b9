"""Other agents for the terminal beside ours (spec 9, Q1): ``python -m bench.peers``."""
