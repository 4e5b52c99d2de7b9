"""The catalog: providers, models, prices, keys and what each model can do."""
