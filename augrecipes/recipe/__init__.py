"""The recipe language: YAML text to a frozen Recipe."""
