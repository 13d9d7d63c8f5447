"""The routes of the studio, the functions that answer them, and access control.

Any page in the same browser can send requests to a server on loopback, even under its own host name (DNS rebinding).
So the Host must be this server's, port included, the Origin absent or the same, and API calls carry a token in a
header, which another page cannot set without a CORS preflight; this server answers none.
"""

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from augrecipes.errors import AugrecipesError, logger
from augrecipes.studio import compare, editing, file, requests
from augrecipes.studio.draws import draws, stages
from augrecipes.studio.requests import RecipeRequest, Refused, ViewRequest, parsed
from augrecipes.studio.studio import EndedError, Piece, Studio, WorkTurn

MOST_BODY = 4 << 20  # bytes of a request
TOKEN = "x-studio-token"  # the header's name
TAB = "x-studio-tab"

# Nothing is fetched from other hosts; only pages of this machine (notebooks) may embed the page in a frame.
_POLICY = "; ".join(
    (
        "default-src 'none'", "script-src 'self'", "style-src 'self' 'unsafe-inline'", "img-src 'self' blob: data:",
        "connect-src 'self'", "font-src 'self'", "form-action 'none'", "base-uri 'none'",
        "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* https://localhost:* https://127.0.0.1:*",
    )
)  # fmt: skip
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_PAGE = Path(__file__).parent / "page"  # the page's own files


def application(studio: Studio, hosts: Iterable[str]) -> "Guard":
    """The ASGI application of a studio.

    Args:
        studio: the state that the routes share.
        hosts: the allowed Host headers: `127.0.0.1:PORT` and the page's other names.
    """

    def turn_of(request: Request) -> WorkTurn:
        """The turn of a request; the tab's next request of the same kind ends it."""
        return studio.turn(request.headers.get(TAB, "")[:80], request.url.path)

    def answer(
        path: str, handler: Callable[..., Any], model: type[BaseModel] | None = None, *, method: str = "POST",
        quick: bool = False, latest: bool = False,
    ) -> Route:  # fmt: skip
        """A route with a JSON answer: `quick` has a thread of its own, `latest` is cancelled by the tab's next one."""
        threads = studio.checker if quick else studio.threads

        async def endpoint(request: Request) -> Response:
            query = [] if model is None else [parsed(model, await body_of(request))]
            turn = turn_of(request) if latest else WorkTurn()
            watching = asyncio.create_task(_end_with(request, turn))
            try:
                return _json(await threads.run(lambda: handler(studio, *query), turn))
            except EndedError:
                raise Refused(409, "ended", "a newer request has taken the place of this one") from None
            finally:
                watching.cancel()

        return Route(path, endpoint, methods=["GET" if model is None else method])

    def stream(path: str, handler: Callable[[Studio, ViewRequest], Iterable[Piece]], lanes: int | None = None) -> Route:
        """A route that streams JSON lines, until the tab's next request of the same kind cancels it."""

        async def endpoint(request: Request) -> Response:
            query, turn = parsed(ViewRequest, await body_of(request)), turn_of(request)
            pieces = await studio.threads.run(lambda: handler(studio, query))

            async def lines() -> AsyncIterator[bytes]:
                try:
                    async for line in studio.threads.stream(turn, pieces, lanes):
                        yield encoded(line) + b"\n"
                except Exception as error:  # a fault of the studio: report it and keep serving
                    logger.exception("%s failed", path)
                    yield encoded({"error": {"code": "internal", "message": repr(error), "fix": ""}}) + b"\n"
                yield encoded({"done": not turn.superseded}) + b"\n"

            return StreamingResponse(lines(), media_type="application/x-ndjson")

        return Route(path, endpoint, methods=["POST"])

    async def image(request: Request) -> Response:
        if (png := studio.images.peek(request.path_params["address"])) is None:
            raise Refused(404, "image", "this image is no longer cached", "draw it again")
        return Response(png, media_type="image/png")

    routes = [
        answer("/api/alive", file.alive, quick=True),
        answer("/api/recipe", file.recipe_of),
        answer("/api/recipe", file.save, requests.SaveRequest, method="PUT"),
        answer("/api/schema", lambda _: file.schema()),
        answer("/api/gallery", lambda _: file.recipes()),
        Route("/api/image/{address}.png", image),
        answer("/api/source", file.source, RecipeRequest),
        answer("/api/check", editing.check_text, RecipeRequest, quick=True),
        answer("/api/slide", editing.slider_changed, requests.SlideRequest, quick=True),
        answer("/api/extremes", compare.range_ends, ViewRequest, latest=True),
        answer("/api/compare", compare.compare_recipes, requests.CompareRequest, latest=True),
        answer("/api/cost", compare.costs, ViewRequest, latest=True),
        answer("/api/import", file.import_recipe, requests.ImportRequest),
        answer("/api/export", file.export_recipe, requests.ExportRequest),
        stream("/api/draws", draws),
        stream("/api/stages", stages, 1),
        Mount("/", StaticFiles(directory=_PAGE, html=True)),
    ]
    errors: Any = dict.fromkeys((Refused, AugrecipesError, ClientDisconnect), _refusal)
    return Guard(Starlette(routes=routes, exception_handlers=errors), studio.token, hosts)


def _refusal(_: Request, error: Exception) -> Response:
    if not isinstance(error, AugrecipesError | Refused):  # the client has disconnected
        return Response(status_code=400)
    refused = Refused.of(error)
    return _json(refused.to_json(), refused.status)


async def _end_with(request: Request, turn: WorkTurn) -> None:
    """End a turn when the client disconnects."""
    while not await request.is_disconnected():
        await asyncio.sleep(0.1)
    turn.end()


async def body_of(request: Request) -> bytes:
    """Read a request's body; Refused above `MOST_BODY` bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BODY:
            raise Refused(413, "too-large", f"a request is at most {MOST_BODY:,} bytes")
    return bytes(body)


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encoded(value), status, headers, "application/json")


def encoded(value: Any) -> bytes:
    """Encode a value as JSON; undecodable bytes of file names become question marks."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


class Guard:
    """Middleware that lets allowed requests through, and sets the headers of every answer.

    Args:
        app: an ASGI application.
        token: required of calls to `/api/`.
        hosts: allowed Host headers, `127.0.0.1:PORT`; an Origin must match the Host.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str]) -> None:
        self.app, self._token, self._hosts = app, token, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, then pass it on or refuse it."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        app: ASGIApp = self.app
        try:
            self._check(Headers(scope=scope), scope["path"])
        except Refused as refused:
            app = _json(refused.to_json(), refused.status, {"connection": "close"})
        await app(scope, receive, sent)

    def _check(self, headers: Headers, path: str) -> None:
        host, api = ",".join(headers.getlist("host")).lower(), path.startswith("/api/")
        if host not in self._hosts:
            raise Refused(403, "host", "this is not the address of the studio")
        origins = {origin.lower() for origin in headers.getlist("origin")} - {f"http://{host}"}
        sites = {*headers.getlist("sec-fetch-site")} - {"same-origin", "none"}
        if origins or (api and sites):
            raise Refused(403, "origin", "other pages have no access to the studio")
        if api and not hmac.compare_digest(",".join(headers.getlist(TOKEN)).encode(), self._token.encode()):
            fix = "open the address that `augrecipes studio` has printed"
            raise Refused(401, "token", "the token is missing, or of another run of the studio", fix)
