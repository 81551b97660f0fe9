"""The Ray that the classes of this package use: the caller's, a cluster's, or one started here."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
from ray._private import ray_constants

# Ray asks for both when it starts. The second makes it listen on the loopback interface alone; it
# was made for macOS and Windows, where that is the default, and works on Linux too.
_ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
_LOOPBACK = ("127.0.0.1", "::1")
_LOCK = threading.Lock()  # Ray may be started but once


def connect() -> None:
    """Connect this process to Ray, unless it is connected.

    If the caller has called ``ray.init``, its Ray is used. Otherwise, if the environment variable
    ``RAY_ADDRESS`` is set, this joins that cluster. Otherwise it starts Ray on this machine, where
    only processes of this machine can reach it, and without usage statistics or a dashboard. That
    Ray ends with this process, or with ``ray.shutdown()``.

    Raises
    ------
    ConnectionError
        If no cluster answers at ``RAY_ADDRESS``.

    Examples
    --------
    >>> import ray
    >>> import river_amf.ray
    >>> river_amf.ray.connect()
    >>> ray.is_initialized()
    True
    """
    with _LOCK:
        if ray.is_initialized():
            return
        if os.environ.get("RAY_ADDRESS", "") in ("", "local"):
            start_here()
        else:
            ray.init(logging_level="WARNING")


def n_cpus() -> int:
    """Return how many CPUs Ray has, and 1 if it has none."""
    return max(int(ray.cluster_resources().get("CPU", 1)), 1)


def start_here(**options: Any) -> None:
    """Start Ray on this machine, out of reach for others; options are those of ray.init."""
    with _on_loopback():
        ray.init(
            address="local",
            include_dashboard=False,
            logging_level="WARNING",
            _node_ip_address="127.0.0.1",
            **options,
        )
    address = ray.util.get_node_ip_address()
    if address not in _LOOPBACK:
        ray.shutdown()
        raise RuntimeError(
            f"Ray {ray.__version__} would listen on {address}, where others can reach it; "
            "call ray.init yourself if that is right"
        )


@contextmanager
def _on_loopback() -> Iterator[None]:
    """Set what Ray reads when it starts, also if it was imported before."""
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    for_clusters = ray_constants.ENABLE_RAY_CLUSTER
    os.environ.update(_ENVIRONMENT)
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = for_clusters
        for name in _ENVIRONMENT:
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if value is not None})
