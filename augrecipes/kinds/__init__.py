"""What each kind of recipe does. A kind is a folder in here, and its name and facts in `augrecipes/recipe/kinds.py`.

Each module of a kind's folder imports what the package may that asks for it, by `part` of `augrecipes/recipe/kinds.py`:

    pipeline.py  compiler     PIPELINE: runs a compiled recipe; with `scales` or `tiles` sharing: who shares draws
    reader.py    sources      TABLE: what is known of its samples; find: lists files; check: what is wrong with them
    dataset.py   data         DATASET: for PyTorch
    sheet.py     preview      sheet: what a recipe does, as an image
    alone.py     tta          alone: one target of several (`scales`) as a recipe of one image

What these are made of lies beside them: in `pair` grids, steps and programs of several targets (compiler), and how
files are paired and checked (sources); in `bag` the tables of tiles and of slides, how tiles are picked (sources), read
(data), put together (compiler) and mapped (preview).
"""
