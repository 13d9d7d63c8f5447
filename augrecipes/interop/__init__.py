"""Conversion of other frameworks' configs to recipes (import), and of recipes to albumentations' code (eject).

A source is read without being run (`reading`, `source`), and the first of `importing.READERS` that recognises it makes
a draft of it (`draft`): steps, output and inputs with remarks, and the parts that no recipe can hold. The draft is
checked like any recipe, with errors at the source's places, and written with its remarks at the lines.
"""
