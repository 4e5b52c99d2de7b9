"""Ratios measured in one run (spec 9, Q1): ``python -m bench``, ``make bench``."""
