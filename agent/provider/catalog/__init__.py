"""The catalog: providers, models, prices, keys, and the abilities of each model."""
