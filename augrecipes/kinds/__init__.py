"""What each kind of recipe does. A kind is a folder in here, and its name and facts in `augrecipes/recipe/kinds.py`.

Packages ask for a module of a kind by `part` of `augrecipes/recipe/kinds.py`; it imports what the asking package may:

    pipeline.py  compiler     PIPELINE: runs a compiled recipe; with `scales` or `tiles` sharing: who shares draws
    reader.py    sources      TABLE: the class of its tables; find: lists files; check: reports defects of files
    dataset.py   data         DATASET: for PyTorch
    sheet.py     preview      sheet: what a recipe does, as an image
    alone.py     tta          alone: one target of several (`scales`) as a recipe of one image

The modules that these use lie beside them: in `pair` grids, steps and programs of several targets (compiler), and how
files are paired and checked (sources); in `bag` the tables of tiles and of slides, how tiles are picked (sources), read
(data), put together (compiler) and mapped (preview).
"""
