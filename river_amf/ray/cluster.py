"""The Ray that the classes of this package use: the caller's, a cluster's, or one started here."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import ray
from ray._private import ray_constants

# Ray reads both when it starts. With the second it listens on the loopback interface alone, as it
# does by default on macOS and Windows.
_ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


def connect() -> None:
    """Connect this process to Ray, unless it is connected.

    If the caller has called ``ray.init``, its Ray is used. Otherwise, if the environment variable
    ``RAY_ADDRESS`` is set, this joins that cluster. Otherwise it starts Ray on this machine, where
    only processes of this machine can reach it, and without usage statistics or a dashboard. That
    Ray ends with this process, or with ``ray.shutdown()``. Without a cluster at ``RAY_ADDRESS``
    there is a `ConnectionError`.

    Examples
    --------
    >>> import ray
    >>> import river_amf.ray
    >>> river_amf.ray.connect()
    >>> ray.is_initialized()
    True
    """
    if ray.is_initialized():
        return
    if os.environ.get("RAY_ADDRESS", "") in ("", "local"):
        start_here()
    else:
        ray.init(logging_level="WARNING", ignore_reinit_error=True)


def start_here(**options: Any) -> None:
    """Start Ray on this machine, out of reach of all other machines, with options of ray.init."""
    with (  # what Ray reads when it starts, even if it was imported before
        mock.patch.dict(os.environ, _ENVIRONMENT),
        mock.patch.object(ray_constants, "ENABLE_RAY_CLUSTER", False),
    ):
        ray.init(
            address="local",
            include_dashboard=False,
            logging_level="WARNING",
            _node_ip_address="127.0.0.1",
            ignore_reinit_error=True,
            **options,
        )
