"""Everything before the first frame."""
