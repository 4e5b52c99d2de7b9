"""Benchmarks: ratios measured in one run (``python -m bench``, ``make bench``)."""
