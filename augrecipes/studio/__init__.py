"""The studio: a page on this machine that shows what a recipe does while it is written.

    serving.py   the routes: what the page may ask            guard.py     who may ask, and how much
    working.py   recipes read, compiled and kept              shelf.py     the data, sample by sample
    jobs.py      work in threads that a newer edit ends       pictures.py  PNGs by address, bounded
    and a file for each view: checking, drawing, stages, sliding, extremes, comparing, costing, verifying, exchanging

Imported only when it is asked for: starlette and uvicorn are the extra `studio`.
"""
