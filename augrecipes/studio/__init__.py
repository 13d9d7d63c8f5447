"""The studio: a page on this machine that shows what a recipe does while it is written.

    server.py    the server, and `ar.studio` in notebooks      app.py       the routes, and who may send requests
    studio.py    what the routes work with, and threads whose  requests.py  requests as models, and errors
                 work a newer edit ends                        data.py      the data, sample by sample
    view.py      a request's recipe over the data, as images   file.py      what the page begins with, saves and exports
    and what is shown: draws.py line by line, compare.py two of a kind, editing.py problems, fixes and sliders

Imported only when it is asked for: starlette and uvicorn are the extra `studio`.
"""
