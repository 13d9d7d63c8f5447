"""Comparisons: what recipes take on one's own data, stage by stage, what they do to it, and whether they got slower."""
