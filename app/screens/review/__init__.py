"""The review of a past session: what stands in its timeline (spec 8, U11)."""
