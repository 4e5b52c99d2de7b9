"""The whole service under random work, faults and kills (spec 9, Q3)."""
