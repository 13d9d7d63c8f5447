"""A Ray cluster, or one that is started here, whose processes get ready while the caller looks at the data.

Nothing large is imported here: connecting comes first, and the rest meanwhile.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from augrecipes.errors import StoreError
from augrecipes.pack.ray_task import get_ready

_READY = 16  # processes that begin before it is known what there is to do
_ANSWERS = 10  # seconds, that a cluster has to take a connection


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Ray, connected to a cluster, whose processes begin to import what they need; what is started here ends here.

    Whoever has something to look at first, as the data, does it inside.

    Args:
        address: as `write_on_ray` takes it.

    Raises:
        StoreError: Ray is not installed, or there is no such cluster.
    """
    try:
        import ray
    except ImportError as error:
        raise StoreError(f"packing on Ray needs it: pip install 'augrecipes[ray]' ({error})") from None
    if ray.is_initialized():
        yield ray
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        if address is None:
            ray.init(address="local", include_dashboard=False, **quiet)
        else:
            _knock(address)
            ray.init(address=address, **quiet)
    except (OSError, OverflowError, ValueError, RuntimeError) as error:
        raise StoreError(f"no Ray cluster at {address or 'this machine'}: {error}") from None
    try:
        warm = ray.remote(num_cpus=1, max_retries=0)(get_ready)
        for _ in range(min(_READY, cores(ray))):
            warm.remote()  # nobody waits for it: a process that cannot do it says so with its first part
        yield ray
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """OSError where an address with a port takes no connection: Ray would try again for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _ANSWERS).close()


def cores(ray: Any) -> int:
    """How many the cluster has."""
    return int(ray.cluster_resources().get("CPU", 1))
