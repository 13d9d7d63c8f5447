"""Trials: recipes compared by what a small network learns under each, on the same samples, order, weights and draws."""
