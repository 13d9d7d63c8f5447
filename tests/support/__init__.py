"""Helpers that several test files share, a module per subject."""
