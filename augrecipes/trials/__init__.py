"""Trials: compare recipes by what a small network learns under each, all else equal: samples, order, weights, draws."""
