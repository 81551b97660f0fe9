"""Compiled code on disk: reused by other processes, never for other sources, never required.

The processes compile a kernel of two lines, in a package with the same decorators.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numba
import pytest

import river_amf
from river_amf.kernels.numba_tools import cache

PACKAGE = Path(river_amf.__file__).parent
NUMBER = 3.5
FILES = {
    "kernels/helping.py": """
from river_amf.kernels.numba_tools.compilation import helper

@helper
def half_of(x):
    return x * +0.5
""",
    "kernels/halving.py": """
from __future__ import annotations
from river_amf.kernels.helping import half_of
from river_amf.kernels.numba_tools.compilation import kernel

@kernel
def half(forest: Forest, x: float) -> float:
    return half_of(x)
""",
}
CALL = """
import json
from river_amf.kernels.halving import half
from river_amf.kernels.numba_tools import cache

number = half.of(0)(0, 7.0)
hits = sum(half._compiled.stats.cache_hits.values())
print(json.dumps({"folder": str(cache.FOLDER), "hits": hits, "number": number}))
"""


@pytest.fixture
def package(tmp_path):
    """Return a package with a kernel, which calls a helper of another file."""
    copy, tools = tmp_path / "copy" / "river_amf", Path("kernels", "numba_tools")
    shutil.copytree(PACKAGE / tools, copy / tools, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "state").mkdir()
    shutil.copy2(PACKAGE / "state" / "layout.py", copy / "state")
    for folder in (copy, copy / "state", copy / "kernels"):
        (folder / "__init__.py").touch()
    for name, text in FILES.items():
        (copy / name).write_text(text)
    return copy


def call(package, warnings=0, **variables):
    """Call the kernel in its own process, and return the output."""
    variables = {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"} | variables
    environment = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
    command = [sys.executable, "-c", CALL]
    options = {"cwd": package.parent, "env": environment | variables}  # the folder is on the path
    run = subprocess.run(command, **options, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("RuntimeWarning: ") == run.stderr.count("NUMBA_CACHE_DIR") == warnings
    assert bool(run.stderr) == bool(warnings)
    return json.loads(run.stdout)


def test_code_is_found_until_a_source_changes(package):
    (package / "kernels" / ".#arrays.py").symlink_to("nobody@nowhere")  # a lock file, not a source
    first, second = call(package), call(package)
    assert (first["hits"], second["hits"]) == (0, 1)
    assert first["number"] == second["number"] == NUMBER
    folder = Path(first["folder"])
    assert folder.parent == package / "kernels" / "__pycache__"
    files = {*folder.iterdir()}
    # another file than the kernel's; as in an upgrade, its time and size stay the same
    helper = package / "kernels" / "helping.py"
    times = helper.stat().st_atime_ns, helper.stat().st_mtime_ns
    helper.write_text(helper.read_text().replace("+0.5", "-0.5"))
    os.utime(helper, ns=times)
    third, fourth = call(package), call(package)
    assert (third["hits"], fourth["hits"]) == (0, 1)
    assert third["number"] == fourth["number"] == -NUMBER
    layout = package / "state" / "layout.py"
    layout.write_text(layout.read_text() + "\n# another layout\n")
    assert call(package)["hits"] == 0
    assert {*folder.iterdir()} == files


def test_users_folder_has_one_for_each_installation(package, tmp_path):
    chosen, other = tmp_path / "chosen", tmp_path / "other" / "river_amf"
    shutil.copytree(package, other)
    answers = [call(p, NUMBA_CACHE_DIR=str(chosen)) for p in (package, other, package)]
    assert [answer["hits"] for answer in answers] == [0, 0, 1]
    assert all(chosen in Path(answer["folder"]).parents for answer in answers)
    assert not (package / "kernels" / "__pycache__").exists()


def test_without_a_folder_each_process_warns(package, tmp_path):
    nowhere = tmp_path / "file"  # below which not even root can create a folder
    nowhere.touch()
    (package / "kernels" / "__pycache__").symlink_to(nowhere)
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path / "cache")}
    first, second = (call(package, **home, LOCALAPPDATA=home["HOME"]) for _ in range(2))
    assert tmp_path / "cache" in Path(second["folder"]).parents
    assert (first["hits"], second["hits"]) == (0, 1)
    places = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA")
    answer = call(package, warnings=1, **dict.fromkeys(places, str(nowhere)))
    assert answer == {"folder": "None", "hits": 0, "number": NUMBER}


def test_filled_folder_that_cannot_be_written_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    filled = cache.folder()
    assert filled.parent == tmp_path
    (filled / "learning.learn_sample.nbi").touch()

    def refuse(dir):
        if dir == filled:
            raise PermissionError

    real = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda dir: refuse(dir) or real(dir=dir))
    assert cache.folder() == filled
    (filled / "learning.learn_sample.nbi").unlink()
    assert cache.folder() != filled


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """Return a function that calls a compiled function anew and returns how much was found."""
    if numba.config.DISABLE_JIT:
        pytest.skip("NUMBA_DISABLE_JIT compiles nothing")
    monkeypatch.setattr(cache, "_reported", set())
    monkeypatch.setattr(cache, "FOLDER", tmp_path)

    def double(x):
        return x + x

    def compile_and_call():
        again = numba.njit(double)
        again._cache = cache.KernelCache(double)
        assert again(3) == 6
        return sum(again.stats.cache_hits.values())

    return compile_and_call


@pytest.mark.parametrize("content", [b"", b"something else"])
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_file_is_replaced(suffix, content, compiled, tmp_path):
    assert (compiled(), compiled()) == (0, 1)
    (file,) = tmp_path.glob(f"*{suffix}")
    file.write_bytes(content)
    assert (compiled(), compiled()) == (0, 1)
    assert len([*tmp_path.iterdir()]) == 2


def test_full_disk_ends_no_call_and_warns_once(compiled, monkeypatch):
    def refuse(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(cache.FunctionCache, "save_overload", refuse)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert (compiled(), compiled()) == (0, 0)
    (warning,) = caught
    assert warning.category is RuntimeWarning
    assert "No space left" in str(warning.message) and "NUMBA_CACHE_DIR" in str(warning.message)


def test_all_sources_of_the_kernels_count(tmp_path):
    layout = PACKAGE / "state" / "layout.py"
    assert {*(PACKAGE / "kernels").rglob("*.py"), layout} == {*cache.SOURCES}
    assert cache.stamp_of(cache.SOURCES) == cache.STAMP
    one, two = tmp_path / "a.py", tmp_path / "b.py"
    hashes = set()
    for contents in [("x", "y"), ("xy", ""), ("", "xy"), ("y", "x")]:
        one.write_text(contents[0])
        two.write_text(contents[1])
        hashes.add(cache.stamp_of([one, two]))
    assert len(hashes) == 4
