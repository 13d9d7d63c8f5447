"""Recipes of kind bag: many tiles of one slide."""
