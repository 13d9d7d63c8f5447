"""Recipes made of other frameworks' configs (import), and albumentations' own code made of recipes (eject).

A source is read without being run (`reading`, `source`), and the first of `importing.READERS` that owns it makes a
draft of it (`draft`): steps, output and inputs with remarks, and what no recipe can hold. The draft is checked as any
recipe is, at the places of the source, and written with its remarks at the lines.
"""
