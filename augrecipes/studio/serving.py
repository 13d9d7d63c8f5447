"""The routes: what the page may ask, and which file answers it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from augrecipes.errors import AugrecipesError, RecipeError
from augrecipes.studio import described, saving
from augrecipes.studio.asked import Refused, RequestBody, refusal
from augrecipes.studio.checking import checked
from augrecipes.studio.comparing import compared
from augrecipes.studio.costing import costed
from augrecipes.studio.drawing import draws
from augrecipes.studio.exchanging import ejected, imported
from augrecipes.studio.extremes import extremes
from augrecipes.studio.guard import TAB, Guard
from augrecipes.studio.jobs import EndedError, Piece, WorkThreads, WorkTurn
from augrecipes.studio.sliding import slid
from augrecipes.studio.stages import stages
from augrecipes.studio.studio import Studio
from augrecipes.studio.verifying import verified

_log = logging.getLogger("augrecipes")


class JsonAnswer(JSONResponse):
    """An answer as JSON."""

    def render(self, content: Any) -> bytes:
        """Its bytes."""
        return _bytes_of(content)


Answer = Callable[[RequestBody], Any]
Pieces = Callable[[RequestBody], Iterable[Piece]]

# The page's files, by how their names end; nothing else in its folder is handed out.
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}


def application(studio: Studio, hosts: Iterable[str]) -> Guard:
    """The whole of it, guarded.

    Args:
        studio: what the routes work with.
        hosts: `127.0.0.1:PORT` and what else the page may be called by.
    """

    def answer(path: str, do: Answer, crew: WorkThreads = studio.crew) -> Route:
        async def endpoint(request: Request) -> Response:
            asked = RequestBody(await request.body())
            return JsonAnswer(await crew.run(lambda: do(asked)))

        return Route(path, _guarded(endpoint), methods=["POST"])

    def in_turn(path: str, do: Answer) -> Route:
        async def endpoint(request: Request) -> Response:
            asked = RequestBody(await request.body())
            turn = studio.turns.next(request.headers.get(TAB, "")[:80], path)
            watching = asyncio.create_task(_end_with(request, turn))
            try:
                return JsonAnswer(await studio.crew.run(lambda: do(asked), turn))
            except EndedError:
                raise Refused(409, "ended", "a newer request has taken the place of this one") from None
            finally:
                watching.cancel()

        return Route(path, _guarded(endpoint), methods=["POST"])

    def stream(path: str, do: Pieces, lanes: int | None = None) -> Route:
        async def endpoint(request: Request) -> Response:
            asked, start = RequestBody(await request.body()), perf_counter()
            turn = studio.turns.next(request.headers.get(TAB, "")[:80], path)
            pieces = await studio.crew.run(lambda: do(asked))

            async def lines() -> AsyncIterator[bytes]:
                try:
                    async for line in studio.crew.stream(turn, pieces, lanes):
                        yield _line(line)
                except Exception as error:  # of the studio itself: it is told, and the server goes on
                    _log.exception("%s failed", path)
                    yield _line({"error": {"code": "internal", "message": repr(error), "cure": ""}})
                yield _line({"done": not turn.superseded, "ms": 1e3 * (perf_counter() - start)})

            return StreamingResponse(lines(), media_type="application/x-ndjson")

        return Route(path, _guarded(endpoint), methods=["POST"])

    def page(name: str) -> Response:
        found = page_file(name)
        if found is None:
            raise Refused(404, "not-found", "the page has no such file")
        return Response(found.read_bytes(), media_type=_TYPES[found.suffix])

    async def file(request: Request) -> Response:
        return page(request.path_params["name"])

    async def alive(_: Request) -> Response:
        said = {"server": studio.server, "version": studio.version, "read_only": studio.read_only}
        return JsonAnswer({**said, "sha": await studio.checker.run(lambda: saving.sha_of(studio))})

    async def recipe(_: Request) -> Response:
        return JsonAnswer(await studio.crew.run(lambda: saving.recipe_of(studio)))

    async def save(request: Request) -> Response:
        asked = RequestBody(await request.body())
        return JsonAnswer(await studio.crew.run(lambda: saving.save(studio, asked)))

    async def source(_: Request) -> Response:
        return JsonAnswer(await studio.crew.run(lambda: _source(studio, saving.recipe_of(studio)["text"])))

    async def schema(_: Request) -> Response:
        return JsonAnswer(await studio.crew.run(described.schema))

    async def gallery(_: Request) -> Response:
        return JsonAnswer(await studio.crew.run(described.recipes))

    async def picture(request: Request) -> Response:
        found = studio.pictures.get(request.path_params["address"])
        if found is None:
            raise Refused(404, "picture", "this picture had to make room for others", "draw it again")
        return Response(found, media_type="image/png")

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        yield
        studio.close()

    routes = [
        Route("/api/alive", alive, methods=["GET"]),
        Route("/api/recipe", _guarded(recipe), methods=["GET"]),
        Route("/api/recipe", _guarded(save), methods=["PUT"]),
        Route("/api/source", _guarded(source), methods=["GET"]),
        Route("/api/schema", _guarded(schema), methods=["GET"]),
        Route("/api/gallery", _guarded(gallery), methods=["GET"]),
        Route("/api/picture/{address}.png", _guarded(picture), methods=["GET"]),
        answer("/api/source", lambda body: _source(studio, body.text())),
        answer("/api/check", lambda body: checked(studio.bench, body.text()), studio.checker),
        answer("/api/slide", lambda body: slid(studio.bench, body), studio.checker),
        in_turn("/api/extremes", lambda body: extremes(studio, body)),
        in_turn("/api/compare", lambda body: compared(studio, body)),
        in_turn("/api/cost", lambda body: costed(studio, body)),
        answer("/api/import", lambda body: imported(studio.bench, body)),
        answer("/api/eject", lambda body: ejected(studio.bench, body)),
        stream("/api/draws", lambda body: draws(studio, body)),
        stream("/api/stages", lambda body: stages(studio, body), 1),
        stream("/api/verify", lambda body: verified(studio, body), 1),
        Route("/", _guarded(file_at("index.html", page)), methods=["GET"]),
        Route("/{name:path}", _guarded(file), methods=["GET"]),
    ]
    return Guard(Starlette(routes=routes, lifespan=life), studio.token, hosts)


def file_at(name: str, page: Callable[[str], Response]) -> Any:
    """An endpoint of one file."""

    async def endpoint(_: Request) -> Response:
        return page(name)

    return endpoint


def page_file(name: str) -> Path | None:
    """A file of the page; None of what it has not, and of what lies elsewhere."""
    root = Path(str(files("augrecipes.studio") / "page")).resolve()
    try:
        found = (root / name).resolve()
        fine = found.is_relative_to(root) and found.is_file() and found.suffix in _TYPES
    except (OSError, ValueError):  # too long a name, a null byte
        return None
    return found if fine else None


def _guarded(endpoint: Any) -> Any:
    """An endpoint whose errors become answers."""

    async def answered(request: Request) -> Response:
        try:
            made: Response = await endpoint(request)
        except Refused as refused:
            return JsonAnswer(refused.to_json(), refused.status)
        except AugrecipesError as error:
            answer = refusal(error)
            return JsonAnswer(answer.to_json(), answer.status)
        return made

    return answered


async def _end_with(request: Request, turn: WorkTurn) -> None:
    """End a turn when whoever asked for it is gone."""
    while not await request.is_disconnected():
        await asyncio.sleep(0.1)
    turn.end()


def _source(studio: Studio, text: str) -> dict[str, Any]:
    try:
        recipe = studio.bench.recipe(text)
    except RecipeError:
        recipe = None
    return described.source(studio, recipe)


def _line(value: Any) -> bytes:
    return _bytes_of(value) + b"\n"


def _bytes_of(value: Any) -> bytes:
    """As JSON; bytes of file names that are no text become question marks."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
