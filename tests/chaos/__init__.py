"""The whole service under random work, faults and kills."""
