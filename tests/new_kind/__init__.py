"""Recipes of kind views: two draws of one picture. What a newcomer writes; see tests/test_new_kind.py."""
