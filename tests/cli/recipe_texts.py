"""Recipes that are fine, that warn, that lint, and that are none."""

GOOD = "version: 1\nrecipe: good\nsteps:\n  - HorizontalFlip\neval: []\n"
WARNS = "version: 1\nrecipe: warns\nsteps:\n  - HorizontalFlip\n"
LINTS = "version: 1\nrecipe: lints\nsteps: []\neval:\n  - HorizontalFlip\n"
BROKEN = "version: 1\nrecipe: broken\nsteps:\n  - HorizontalFlop\n  - Rotate: {limt: 3}\n"
