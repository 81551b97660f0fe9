"""Ray as river_amf.ray starts it: for this machine alone, quiet, and gone afterwards."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress

import psutil
import pytest
import ray
from processes import has_ended

import river_amf.ray
from river_amf.ray import cluster


def test_connect_uses_the_ray_of_the_caller():
    before = ray.get_runtime_context().get_node_id()
    river_amf.ray.connect()
    assert ray.get_runtime_context().get_node_id() == before
    senders = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # some do their work and end
            senders += [process] * any("UsageStats" in word for word in process.cmdline())
    assert senders
    assert {p.environ()["RAY_USAGE_STATS_ENABLED"] for p in senders} == {"0"}  # nothing is sent
    assert [name for name in cluster._ENVIRONMENT if name in os.environ] == []
    assert cluster.ray_constants.ENABLE_RAY_CLUSTER


def start(code, **environment):
    """Run code in a process of its own, which has its own Ray, or joins one."""
    code = f"import ray, river_amf.ray\nriver_amf.ray.connect()\n{code}"
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )


LISTENING = """
import json, psutil, time
ray.get(ray.remote(lambda: 1).remote())  # in a worker
processes = psutil.Process().children(recursive=True)
listening = {c.laddr.ip for p in processes for c in p.net_connections() if c.status == "LISTEN"}
print(json.dumps([[p.pid for p in processes], sorted(listening)]), flush=True)
time.sleep(60)
"""


@pytest.mark.slow
def test_connect_starts_ray_that_ctrl_c_ends():
    with start(LISTENING) as child:
        line = child.stdout.readline()
        assert line, child.stderr.read()
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to all that it started
        assert "KeyboardInterrupt" in child.communicate(timeout=60)[1]
    pids, addresses = json.loads(line)
    assert len(pids) > 2
    assert {*addresses} <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert all(map(has_ended, pids))


@pytest.mark.slow
def test_connect_joins_the_cluster_at_the_address():
    here = ray.get_runtime_context()
    environment = {"RAY_ADDRESS": here.gcs_address, **cluster._ENVIRONMENT}
    with start("print(ray.get_runtime_context().get_node_id())", **environment) as child:
        output, errors = child.communicate(timeout=120)
    assert output.split()[-1:] == [here.get_node_id()], errors
