"""Sub-agents: started, followed in the background, reported."""
