"""Past sessions for review: timeline, costs, context usage and past requests."""
