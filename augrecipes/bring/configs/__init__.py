"""Configs that name the classes they build: Hydra, LightningCLI, the MM frameworks, and `name:` with `params:`."""
