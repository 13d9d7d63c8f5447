"""The routes of the studio: which requests the page sends, and which function answers each."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from time import perf_counter
from typing import Any

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from augrecipes.errors import AugrecipesError
from augrecipes.studio import file, requests, schema
from augrecipes.studio.checking import checked
from augrecipes.studio.compare import compared
from augrecipes.studio.cost import costs
from augrecipes.studio.draws import draws
from augrecipes.studio.extremes import extremes
from augrecipes.studio.guard import TAB, Guard, body_of
from augrecipes.studio.jobs import EndedError, Piece, WorkThreads, WorkTurn
from augrecipes.studio.requests import RecipeRequest, Refused, ViewRequest, parsed
from augrecipes.studio.sliding import slid
from augrecipes.studio.stages import stages
from augrecipes.studio.studio import Studio

_log = logging.getLogger("augrecipes")
_PAGE = ("augrecipes.studio", "page")  # the package and folder of the page's own files

Answer = Callable[[Any], Any]
Handler = Callable[[Request], Awaitable[Response]]


def application(studio: Studio, hosts: Iterable[str]) -> Guard:
    """The ASGI application of a studio.

    Args:
        studio: what the routes work with.
        hosts: `127.0.0.1:PORT` and what else the page may be called by.
    """
    bench = studio.bench

    def get(path: str, do: Callable[[], Any], threads: WorkThreads = studio.threads) -> Route:
        async def endpoint(_: Request) -> Response:
            return _json(await threads.run(do))

        return Route(path, endpoint)

    def post(
        path: str, model: type[BaseModel], do: Answer, threads: WorkThreads = studio.threads, method: str = "POST"
    ) -> Route:
        async def endpoint(request: Request) -> Response:
            query = parsed(model, await body_of(request))
            return _json(await threads.run(lambda: do(query)))

        return Route(path, endpoint, methods=[method])

    def latest(path: str, model: type[BaseModel], do: Answer) -> Route:
        """A request that a newer one of the same tab ends."""

        async def endpoint(request: Request) -> Response:
            query = parsed(model, await body_of(request))
            turn = studio.turns.next(request.headers.get(TAB, "")[:80], path)
            watching = asyncio.create_task(_end_with(request, turn))
            try:
                return _json(await studio.threads.run(lambda: do(query), turn))
            except EndedError:
                raise Refused(409, "ended", "a newer request has taken the place of this one") from None
            finally:
                watching.cancel()

        return Route(path, endpoint, methods=["POST"])

    def stream(path: str, do: Callable[[Studio, ViewRequest], Iterable[Piece]], lanes: int | None = None) -> Route:
        """The same, answered line by line."""

        async def endpoint(request: Request) -> Response:
            query, start = parsed(ViewRequest, await body_of(request)), perf_counter()
            turn = studio.turns.next(request.headers.get(TAB, "")[:80], path)
            pieces = await studio.threads.run(lambda: do(studio, query))

            async def lines() -> AsyncIterator[bytes]:
                try:
                    async for line in studio.threads.stream(turn, pieces, lanes):
                        yield encoded(line) + b"\n"
                except Exception as error:  # of the studio itself: it is reported, and the server goes on
                    _log.exception("%s failed", path)
                    yield encoded({"error": {"code": "internal", "message": repr(error), "fix": ""}}) + b"\n"
                yield encoded({"done": not turn.superseded, "ms": 1e3 * (perf_counter() - start)}) + b"\n"

            return StreamingResponse(lines(), media_type="application/x-ndjson")

        return Route(path, endpoint, methods=["POST"])

    async def image(request: Request) -> Response:
        if (found := studio.images.get(request.path_params["address"])) is None:
            raise Refused(404, "image", "this image is no longer cached", "draw it again")
        return Response(found, media_type="image/png")

    routes = [
        get("/api/alive", lambda: file.alive(studio), studio.checker),
        get("/api/recipe", lambda: file.recipe_of(studio)),
        post("/api/recipe", requests.SaveRequest, lambda query: file.save(studio, query), method="PUT"),
        get("/api/schema", schema.schema),
        get("/api/gallery", schema.recipes),
        Route("/api/image/{address}.png", image),
        post("/api/source", RecipeRequest, lambda query: schema.source(studio, query.text)),
        post("/api/check", RecipeRequest, lambda query: checked(bench, query.text), studio.checker),
        post("/api/slide", requests.SlideRequest, lambda query: slid(bench, query), studio.checker),
        latest("/api/extremes", ViewRequest, lambda query: extremes(studio, query)),
        latest("/api/compare", requests.CompareRequest, lambda query: compared(studio, query)),
        latest("/api/cost", ViewRequest, lambda query: costs(studio, query)),
        post("/api/import", requests.ImportRequest, lambda query: file.imported(bench, query)),
        post("/api/export", requests.ExportRequest, lambda query: file.exported(bench, query)),
        stream("/api/draws", draws),
        stream("/api/stages", stages, 1),
        Mount("/", StaticFiles(packages=[_PAGE], html=True)),
    ]
    return Guard(Starlette(routes=routes, exception_handlers=_ERRORS), studio.token, hosts)


def _refused(_: Request, error: Exception) -> Response:
    refused = error if isinstance(error, Refused) else Refused.of(error) if isinstance(error, AugrecipesError) else None
    return Response(status_code=400) if refused is None else _json(refused.to_json(), refused.status)


_ERRORS: Any = dict.fromkeys((Refused, AugrecipesError, ClientDisconnect), _refused)


async def _end_with(request: Request, turn: WorkTurn) -> None:
    """End a turn when the client is gone."""
    while not await request.is_disconnected():
        await asyncio.sleep(0.1)
    turn.end()


def _json(value: Any, status: int = 200) -> Response:
    return Response(encoded(value), status, media_type="application/json")


def encoded(value: Any) -> bytes:
    """The value as JSON; bytes of file names that are no text become question marks."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
