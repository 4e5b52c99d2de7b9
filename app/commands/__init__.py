"""Commands: the registry of actions, the key map and what an action can use."""
