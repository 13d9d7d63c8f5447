"""The part of a recipe that runs on the training device: the output of recipes with `where: device`."""
