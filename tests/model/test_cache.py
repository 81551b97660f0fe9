"""Compiled code on disk: reused by other processes, never for other sources, never required.

Each call is a process that compiles a kernel in a copy of the package. The copy contains only the
kernels, because importing the rest takes longer than compiling the kernel.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import river_amf
from river_amf.kernels import cache

PACKAGE = Path(river_amf.__file__).parent

# a kernel that calls a helper of another file
CALL = """
import json
import numpy as np
import river_amf
from river_amf.kernels import compilation, hull_of_rows

box = np.full((2, 1), np.nan)
links = np.array([-1], np.int32)
numeric = np.zeros(1, np.uint8)
hull_of_rows(numeric, 1, np.uint64(7), np.array([[3.0]]), links, 0, box)
stats = hull_of_rows.stats
print(json.dumps({
    "package": river_amf.__file__,
    "folder": compilation.CACHE_FOLDER,
    "hits": sum(stats.cache_hits.values()),
    "box": box.tolist(),
}))
"""


@pytest.fixture
def package(tmp_path):
    """Copy the sources of the kernels, without compiled code."""
    copy = tmp_path / "copy" / "river_amf"
    shutil.copytree(
        PACKAGE / "kernels", copy / "kernels", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy2(PACKAGE / "layout.py", copy)
    (copy / "__init__.py").touch()
    return copy


def call(package, **variables):
    """Call the kernel in its own process, and return the output."""
    variables = {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"} | variables
    environment = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
    run = subprocess.run(
        [sys.executable, "-c", CALL],
        cwd=package.parent,  # which comes first on the path with -c
        env=environment | variables,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert not run.stderr
    answer = json.loads(run.stdout)
    assert Path(answer["package"]).parent == package
    return answer


def change_helper(package):
    """Reverse a helper of the kernel; as in an upgrade, timestamps and sizes may stay the same."""
    helper = package / "kernels" / "random_numbers.py"
    times = helper.stat().st_atime_ns, helper.stat().st_mtime_ns
    text = helper.read_text()
    assert text.count("out[j] = value\n") == 1
    helper.write_text(text.replace("out[j] = value\n", "out[j] =-value\n"))
    os.utime(helper, ns=times)


@pytest.mark.slow
def test_compiled_code_is_found_until_a_source_changes_and_then_removed(package):
    (package / "kernels" / ".#arrays.py").symlink_to("nobody@nowhere")  # a lock file, not a source
    first, second = call(package), call(package)
    assert (first["hits"], second["hits"]) == (0, 1)
    assert first["folder"] == second["folder"]
    assert Path(first["folder"]).parent == package / "kernels" / "__pycache__"
    assert first["box"] == second["box"] == [[3.0], [3.0]]

    change_helper(package)  # in another file than the kernel
    third = call(package)
    assert third["hits"] == 0
    assert third["box"] == [[-3.0], [-3.0]]
    assert third["folder"] != first["folder"]
    assert not Path(first["folder"]).exists() and Path(third["folder"]).exists()

    layout = package / "layout.py"
    layout.write_text(layout.read_text() + "\n# another layout\n")
    fourth = call(package)
    assert fourth["hits"] == 0 and fourth["folder"] != third["folder"]


@pytest.mark.slow
def test_the_users_own_folder_is_taken_and_shared_by_installations(package, tmp_path):
    chosen = tmp_path / "chosen"
    other = tmp_path / "other" / "river_amf"
    shutil.copytree(package, other)
    answers = [call(p, NUMBA_CACHE_DIR=str(chosen)) for p in (package, other, package)]
    assert [answer["hits"] for answer in answers] == [0, 0, 1]
    assert all(chosen in Path(answer["folder"]).parents for answer in answers)
    assert not (package / "kernels" / "__pycache__").exists()


@pytest.fixture
def nowhere(tmp_path):
    """Return a path below which nobody, not even root, can create a folder."""
    file = tmp_path / "file"
    file.touch()
    return file


@pytest.mark.slow
def test_where_the_package_cannot_be_written_it_is_the_users_cache(package, nowhere, tmp_path):
    (package / "kernels" / "__pycache__").symlink_to(nowhere)
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path / "cache")}
    first, second = (call(package, **home, LOCALAPPDATA=home["HOME"]) for _ in range(2))
    assert tmp_path / "cache" in Path(second["folder"]).parents
    assert (first["hits"], second["hits"]) == (0, 1)


@pytest.mark.slow
def test_where_nothing_can_be_written_each_process_compiles(package, nowhere):
    (package / "kernels" / "__pycache__").symlink_to(nowhere)
    places = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA")
    answer = call(package, **dict.fromkeys(places, str(nowhere)))
    assert answer["folder"] == "" and answer["hits"] == 0
    assert answer["box"] == [[3.0], [3.0]]


AS_IT_WAS = """
import numba
names = ["CACHE_DIR", "CACHE_LOCATOR_CLASSES"]
before = [getattr(numba.config, name, None) for name in names]
import river_amf
assert [getattr(numba.config, name, None) for name in names] == before
"""


@pytest.mark.slow
@pytest.mark.parametrize("variables", [{}, {"NUMBA_CACHE_DIR": "chosen"}])
def test_other_packages_find_numba_as_it_was(variables, tmp_path):
    environment = os.environ | variables
    subprocess.run([sys.executable, "-c", AS_IT_WAS], env=environment, cwd=tmp_path, check=True)


@pytest.mark.slow
def test_locators_that_the_user_has_named_do_not_find_stale_code(package):
    named = {"NUMBA_CACHE_LOCATOR_CLASSES": "InTreeCacheLocator"}
    call(package, **named)
    change_helper(package)
    assert call(package, **named)["box"] == [[-3.0], [-3.0]]


def test_without_a_home_none_is_made_up(package, nowhere, tmp_path, monkeypatch):
    (package / "kernels" / "__pycache__").symlink_to(nowhere)
    monkeypatch.setattr(cache, "_HERE", package / "kernels")
    monkeypatch.setattr(cache.os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.chdir(tmp_path)
    assert cache.folder() == ""
    assert not (tmp_path / "~").exists()


def test_all_sources_of_the_kernels_count(tmp_path):
    assert {*(PACKAGE / "kernels").glob("*.py"), PACKAGE / "layout.py"} == {*cache.SOURCES}
    one, two = tmp_path / "a.py", tmp_path / "b.py"
    hashes = set()
    for contents in [("x", "y"), ("xy", ""), ("", "xy"), ("y", "x")]:
        one.write_text(contents[0])
        two.write_text(contents[1])
        hashes.add(cache.source_hash([one, two]))
    assert len(hashes) == 4
