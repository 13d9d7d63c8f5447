"""Who may ask: this machine, the page that this server has handed out, and whoever knows the token.

A page elsewhere in the same browser can send requests to a server on loopback, and a name of its own can be made to
lead there (DNS rebinding). So the Host must be this server's, the Origin absent or the same, and every call must carry
the token in a header, which no other page can set without a preflight that nobody here answers.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable
from typing import Any

from augrecipes.studio.asked import Refused

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
HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_OPEN = ("GET", "HEAD")  # what the page's own files are fetched with


class Guard:
    """Lets through to `app` what may pass; answers everything else itself.

    Args:
        app: an ASGI application.
        token: that calls of `/api/` carry.
        hosts: what the Host may be, `127.0.0.1:PORT`; an Origin must be the same.
    """

    def __init__(self, app: Any, token: str, hosts: Iterable[str]) -> None:
        self.app, self._token = app, token.encode()
        self._hosts = frozenset(host.encode() for host in hosts)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            self._check(scope)
            body = await _body(scope, receive)
        except Refused as refused:
            await _answer(send, refused)
            return
        except _GoneError:
            return

        async def passed(message: Any) -> None:
            if message["type"] == "http.response.start":
                given = [pair for pair in message.get("headers", []) if pair[0].lower() not in _OURS]
                message = {**message, "headers": [*given, *HEADERS]}
            await send(message)

        await self.app(scope, _Again(body, receive), passed)

    def _check(self, scope: Any) -> None:
        headers = scope["headers"]
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise Refused(403, "host", "this is not the address of the studio")
        origins = [value for name, value in headers if name == b"origin"]
        if any(origin.lower() != b"http://" + hosts[0].lower() for origin in origins):
            raise Refused(403, "origin", "another page may not ask the studio")
        sites = [value for name, value in headers if name == b"sec-fetch-site"]
        api = scope["path"].startswith("/api/")
        if api and any(site not in (b"same-origin", b"none") for site in sites):
            raise Refused(403, "origin", "another page may not ask the studio")
        if api:
            tokens = [value for name, value in headers if name == TOKEN.encode()]
            if len(tokens) != 1 or not hmac.compare_digest(tokens[0], self._token):
                cure = "open the address that `augrecipes studio` has printed"
                raise Refused(401, "token", "the token is missing, or of another run of the studio", cure)
        elif scope["method"] not in _OPEN:
            raise Refused(405, "method", "files of the page are only read")


_OURS = frozenset(name for name, _ in HEADERS)


class _GoneError(Exception):
    """Whoever asked does not wait for an answer."""


async def _body(scope: Any, receive: Any) -> bytes:
    """All of a request's body; Refused where it is larger than any that the page sends."""
    said = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if not said.isdigit() or int(said) > MOST_BODY:
        raise Refused(413, "too-large", f"a request is at most {MOST_BODY:,} bytes")
    found = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _GoneError
        found += message.get("body", b"")
        if len(found) > MOST_BODY:
            raise Refused(413, "too-large", f"a request is at most {MOST_BODY:,} bytes")
        if not message.get("more_body", False):
            return bytes(found)


class _Again:
    """A body that has been received, once more; then what else comes: that whoever asked is gone."""

    def __init__(self, body: bytes, receive: Any) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Any:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _answer(send: Any, refused: Refused) -> None:
    body = json.dumps(refused.to_json()).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close"), *HEADERS]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
