"""Who may use the studio: this machine, and of its programs and pages those that know the token.

A page elsewhere in the same browser can send requests to a server on loopback, and a name of its own can be made to
lead there (DNS rebinding). So the Host must be this server's, port included, the Origin absent or the same, and calls
carry the token in a header, which no other page can set without a preflight that nobody here answers.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from augrecipes.studio.requests import Refused

MOST_BODY = 4 << 20  # bytes of a request
TOKEN = "x-studio-token"  # the header's name
TAB = "x-studio-tab"

# Nothing is fetched from elsewhere; only pages of this machine, notebooks, show the page inside theirs.
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


class Guard:
    """Middleware that passes on what is allowed, and sets the headers of every answer.

    Args:
        app: an ASGI application.
        token: that calls of `/api/` carry.
        hosts: what the Host may be, `127.0.0.1:PORT`; an Origin must be the same.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str]) -> None:
        self.app, self._token, self._hosts = app, token, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            self._check(Headers(scope=scope), scope["path"])
        except Refused as refused:
            return await JSONResponse(refused.to_json(), refused.status, {"connection": "close"})(scope, receive, sent)
        return await self.app(scope, receive, sent)

    def _check(self, headers: Headers, path: str) -> None:
        host, api = ",".join(headers.getlist("host")).lower(), path.startswith("/api/")
        if host not in self._hosts:
            raise Refused(403, "host", "this is not the address of the studio")
        sites = headers.getlist("sec-fetch-site") if api else []
        if {one.lower() for one in headers.getlist("origin")} - {f"http://{host}"} or {*sites} - {
            "same-origin",
            "none",
        }:
            raise Refused(403, "origin", "other pages have no access to the studio")
        if api and not hmac.compare_digest(",".join(headers.getlist(TOKEN)).encode(), self._token.encode()):
            fix = "open the address that `augrecipes studio` has printed"
            raise Refused(401, "token", "the token is missing, or of another run of the studio", fix)


async def body_of(request: Request) -> bytes:
    """A request's body; Refused where it is larger than any that the page sends."""
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > MOST_BODY:
            raise Refused(413, "too-large", f"a request is at most {MOST_BODY:,} bytes")
    return bytes(found)
