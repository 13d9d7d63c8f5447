"""The studio: a page on this machine that shows what a recipe does while it is written.

    server.py     the server, and `ar.studio` in notebooks    app.py     the routes
    guard.py      who has access                              requests.py  requests as models, and errors
    studio.py     what the routes work with                   data.py    the data, sample by sample
    workbench.py  recipes read, compiled and cached           images.py  PNGs by address, and overlays
    jobs.py       work in threads that a newer edit ends      view.py    a request's recipe over the data
    and a file for each view and task: checking, sliding, draws, stages, extremes, compare, cost, schema, file

Imported only when it is asked for: starlette and uvicorn are the extra `studio`.
"""
