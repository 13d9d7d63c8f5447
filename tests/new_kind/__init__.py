"""Recipes of kind views: two draws of one image. What a newcomer writes; see tests/test_new_kind.py."""

from augrecipes.kinds import Facts

FACTS = Facts(dataset="TwoViews", unit="image")
