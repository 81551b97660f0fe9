"""Ray as river_amf.ray starts it: for this machine alone, quiet, and gone afterwards."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import ray

import river_amf.ray
from river_amf.ray import cluster

LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


@ray.remote
class Counter:
    """An actor, so that there is a worker process."""

    def answer(self):
        """Return a number."""
        return 1


@pytest.fixture
def counter():
    actor = Counter.remote()
    ray.get(actor.answer.remote())
    yield actor
    ray.kill(actor)


def of_ray():
    """Return this process and those that Ray has started from it."""
    here = psutil.Process()
    return [here, *here.children(recursive=True)]


def test_the_fixture_has_two_cpus_and_connect_uses_it():
    before = ray.get_runtime_context().get_node_id()
    river_amf.ray.connect()
    assert ray.get_runtime_context().get_node_id() == before
    assert ray.cluster_resources()["CPU"] == 2


def test_it_listens_on_the_loopback_interface_alone(counter):
    addresses = set()
    for process in of_ray():
        for connection in process.net_connections():
            if connection.status == psutil.CONN_LISTEN:
                addresses.add(connection.laddr.ip)
    assert addresses
    assert addresses <= LOOPBACK


def test_nothing_is_sent_to_the_makers_of_ray():
    senders = []
    for process in of_ray():
        with suppress(psutil.NoSuchProcess):  # some do their work and end
            senders += [process] * any("UsageStats" in word for word in process.cmdline())
    assert senders
    assert {p.environ()["RAY_USAGE_STATS_ENABLED"] for p in senders} == {"0"}


def test_the_environment_of_the_caller_stays_as_it_was():
    names = cluster._ENVIRONMENT
    assert [name for name in names if name in os.environ] == []
    assert cluster.ray_constants.ENABLE_RAY_CLUSTER


def run(code, **environment):
    """Run code in a process of its own, which has its own Ray."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


@pytest.mark.slow
def test_connect_starts_ray_on_this_machine_and_it_ends_with_the_process(tmp_path):
    code = """
import json, psutil, ray, river_amf.ray
river_amf.ray.connect()
processes = psutil.Process().children(recursive=True)
listening = {c.laddr.ip for p in processes for c in p.net_connections() if c.status == "LISTEN"}
print(json.dumps([[p.pid for p in processes], sorted(listening)]))
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
    pids, addresses = json.loads(done.stdout.splitlines()[-1])
    assert len(pids) > 2
    assert set(addresses) <= LOOPBACK
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []


@pytest.mark.slow
def test_a_ray_that_would_be_within_reach_of_others_is_stopped():
    code = """
import ray
from river_amf.ray import cluster
ray.util.get_node_ip_address = lambda: "192.0.2.2"
try:
    cluster.connect()
except RuntimeError as error:
    print(error, ray.is_initialized())
"""
    done = run(code)
    assert "would listen on 192.0.2.2, where others can reach it" in done.stdout, done.stderr
    assert done.stdout.endswith("False\n")


@pytest.mark.slow
def test_connect_joins_the_cluster_that_the_environment_names():
    code = """
import ray, river_amf.ray
river_amf.ray.connect()
print(ray.get_runtime_context().get_node_id())
"""
    address = ray.get_runtime_context().gcs_address
    done = run(code, RAY_ADDRESS=address, **cluster._ENVIRONMENT)  # it is on the loopback interface
    assert done.stdout.split()[-1:] == [ray.get_runtime_context().get_node_id()], done.stderr


SLEEPER = """
import time

import psutil


def test_sleeps(tmp_path_factory):
    pids = [p.pid for p in psutil.Process().children(recursive=True)]
    (tmp_path_factory.getbasetemp().parent / "pids").write_text(" ".join(map(str, pids)))
    time.sleep(60)
"""


@pytest.mark.slow
def test_ctrl_c_stops_the_tests_and_ray(tmp_path):
    tests = Path(__file__).resolve().parents[1]
    (tmp_path / "tests" / "ray").mkdir(parents=True)
    (tmp_path / "tests" / "ray" / "test_sleeper.py").write_text(SLEEPER)
    (tmp_path / "tests" / "conftest.py").write_text((tests / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = ray\n")
    command = [sys.executable, "-m", "pytest", "-m", "ray", f"--basetemp={tmp_path / 'base'}"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        deadline = time.monotonic() + 90
        while not (tmp_path / "pids").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.5)
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to all that it started
        output = child.communicate(timeout=60)[0]
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert "KeyboardInterrupt" in output
    assert len(pids) > 2
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []
