"""Connections to the studio: where there are many, the oldest on which nothing is being answered makes room."""

from __future__ import annotations

import asyncio
from time import monotonic

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 128  # connections; those that wait for an answer may be more


class Connection(H11Protocol):
    """One connection, which may never send a whole request: whoever can reach the port can open some."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; close the oldest that nobody waits on, where there are too many."""
        self.began = monotonic()
        super().connection_made(transport)
        ours = [each for each in self.connections if isinstance(each, Connection)]
        if len(ours) > MOST:
            idle = (each for each in ours if each.cycle is None or each.cycle.response_complete)
            oldest = min(idle, key=lambda each: each.began, default=None)
            if oldest is not None:
                self.connections.discard(oldest)
                oldest.transport.abort()
