"""The studio: a page on this machine that shows what a recipe does while it is written.

    server.py    the server, and `ar.studio` in notebooks      app.py       routes and access control
    studio.py    state shared by all routes, and threads       requests.py  request models, and errors
                 whose work a newer request cancels            data.py      the data, sample by sample
    view.py      a request's recipe over the data, as images   file.py      opens, saves, imports and exports recipes
    draws.py     draws and stages, streamed line by line       compare.py   range ends, two recipes, and times
    editing.py   problems, fixes and sliders

Imported only on demand: starlette and uvicorn come with the extra `studio`.
"""
