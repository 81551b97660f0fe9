"""Compiled code on disk: reused by other processes, never for other sources, never required.

Most calls are processes that compile a kernel of two lines in a package with the same decorators:
to import the rest takes longer.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numba
import pytest

import river_amf
from river_amf.kernels.numba_tools import cache, compilation

PACKAGE = Path(river_amf.__file__).parent
NUMBER = 3.5

HELPER = """
from river_amf.kernels.numba_tools.compilation import helper

@helper
def half_of(x):
    return x * +0.5
"""
KERNEL = """
from river_amf.kernels.helping import half_of
from river_amf.kernels.numba_tools.compilation import kernel

@kernel
def half(x: float) -> float:
    return half_of(x)
"""
CALL = """
import json
import river_amf
from river_amf.kernels.halving import half
from river_amf.kernels.numba_tools import compilation

number = half(7.0)
print(json.dumps({
    "package": river_amf.__file__,
    "folders": compilation.CACHE_FOLDERS,
    "hits": sum(half.stats.cache_hits.values()),
    "number": number,
}))
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
    (copy / "kernels" / "helping.py").write_text(HELPER)
    (copy / "kernels" / "halving.py").write_text(KERNEL)
    return copy


def call(package, warnings=0, start=(), **variables):
    """Call the kernel in its own process, and return the output."""
    variables = {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"} | variables
    environment = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
    run = subprocess.run(
        [*start, sys.executable, "-c", CALL],
        cwd=package.parent,  # which comes first on the path with -c
        env=environment | variables,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("RuntimeWarning: ") == run.stderr.count("NUMBA_CACHE_DIR") == warnings
    assert bool(run.stderr) == bool(warnings)
    answer = json.loads(run.stdout)
    assert Path(answer["package"]).parent == package
    return answer


def only(folders):
    """Return the only folder."""
    (folder,) = folders
    return folder


def change_helper(package):
    """Reverse a helper of the kernel; as in an upgrade, timestamps and sizes may stay the same."""
    helper = package / "kernels" / "helping.py"
    times = helper.stat().st_atime_ns, helper.stat().st_mtime_ns
    text = helper.read_text()
    helper.write_text(text.replace("+0.5", "-0.5"))
    os.utime(helper, ns=times)


def test_compiled_code_is_found_until_a_source_changes_and_then_replaced(package):
    (package / "kernels" / ".#arrays.py").symlink_to("nobody@nowhere")  # a lock file, not a source
    first, second = call(package), call(package)
    assert (first["hits"], second["hits"]) == (0, 1)
    assert first["folders"] == second["folders"]
    assert Path(only(first["folders"])).parent == package / "kernels" / "__pycache__"
    assert first["number"] == second["number"] == NUMBER

    files = {*Path(only(first["folders"])).iterdir()}

    change_helper(package)  # in another file than the kernel
    third, fourth = call(package), call(package)
    assert (third["hits"], fourth["hits"]) == (0, 1)
    assert third["number"] == fourth["number"] == -NUMBER

    layout = package / "state" / "layout.py"
    layout.write_text(layout.read_text() + "\n# another layout\n")
    assert call(package)["hits"] == 0
    assert {*Path(only(first["folders"])).iterdir()} == files


def test_the_users_own_folder_is_taken_and_shared_by_installations(package, tmp_path):
    chosen = tmp_path / "chosen"
    other = tmp_path / "other" / "river_amf"
    shutil.copytree(package, other)
    answers = [call(p, NUMBA_CACHE_DIR=str(chosen)) for p in (package, other, package)]
    assert [answer["hits"] for answer in answers] == [0, 0, 1]
    assert all(chosen in Path(only(answer["folders"])).parents for answer in answers)
    assert not (package / "kernels" / "__pycache__").exists()


@pytest.fixture
def nowhere(tmp_path):
    """Return a path below which nobody, not even root, can create a folder."""
    file = tmp_path / "file"
    file.touch()
    return file


def test_where_the_package_cannot_be_written_it_is_the_users_cache(package, nowhere, tmp_path):
    (package / "kernels" / "__pycache__").symlink_to(nowhere)
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path / "cache")}
    first, second = (call(package, **home, LOCALAPPDATA=home["HOME"]) for _ in range(2))
    assert tmp_path / "cache" in Path(only(second["folders"])).parents
    assert (first["hits"], second["hits"]) == (0, 1)


def nowhere_else(path):
    """Return the variables for a process whose other places are all below a path."""
    places = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA")
    return dict.fromkeys(places, str(path))


def test_where_nothing_can_be_written_each_process_compiles_and_warns_once(package, nowhere):
    (package / "kernels" / "__pycache__").symlink_to(nowhere)
    answer = call(package, warnings=1, **nowhere_else(nowhere))
    assert answer["folders"] == [] and answer["hits"] == 0
    assert answer["number"] == NUMBER
    call(package, PYTHONWARNINGS="ignore::RuntimeWarning", **nowhere_else(nowhere))


# Folders and files without permission. They do not stop root, who has to give up the right to
# ignore them.

WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner")


@pytest.fixture
def as_a_user():
    """Return the start of a command line that runs a process as a user who is bound by modes."""
    if os.name != "posix":
        pytest.skip("needs modes of files as in Unix")
    return WITHOUT_RIGHTS if os.geteuid() == 0 else ()


@pytest.fixture
def protect():
    """Yield a function that takes away the right to write to a folder and all below it."""
    changed = []

    def take_away(folder, right=0o222):
        for path in [*folder.rglob("*"), folder]:  # a folder after its contents
            changed.append((path, path.stat().st_mode))
            path.chmod(path.stat().st_mode & ~right)

    yield take_away
    for path, mode in reversed(changed):
        path.chmod(mode)


def test_a_filled_cache_that_cannot_be_written_is_used(package, tmp_path, as_a_user, protect):
    alone = {"start": as_a_user, **nowhere_else(tmp_path / "closed")}
    filled = call(package)["folders"]
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0)
    protect(package)
    answer = call(package, **alone)
    assert (answer["hits"], answer["folders"]) == (1, filled)

    # for another processor or version, there is nothing in it: the next place is filled
    protect(Path(only(filled)), 0o444)
    home = nowhere_else(tmp_path / "home") | {"NUMBA_CACHE_DIR": ""}
    answers = [call(package, start=as_a_user, **home) for _ in range(2)]
    assert [answer["hits"] for answer in answers] == [0, 1]
    assert answers[0]["folders"][:1] == filled and len(answers[0]["folders"]) == 2

    # where there is no other place, the code is compiled each time
    assert call(package, warnings=1, **alone)["number"] == NUMBER


# Files, of a small function


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """Return a function that calls a compiled function anew and returns how much was found."""
    monkeypatch.setattr(cache, "_said", set())

    def double(x):
        return x + x

    def compile_and_call(x=3, folders=(tmp_path,)):
        again = numba.njit(double)
        again._cache = cache.KernelCache(double, folders)
        assert again(x) == x + x and type(again(x)) is type(x)
        return sum(again.stats.cache_hits.values())

    return compile_and_call


with_numba = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="NUMBA_DISABLE_JIT compiles nothing"
)


def flip(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGES = {
    "empty": lambda content: b"",
    "start": lambda content: content[:10],
    "cut": lambda content: content[:-1],
    "zeros": lambda content: bytes(len(content)),
    "other": lambda content: b"something else",
}


@with_numba
@pytest.mark.parametrize(
    ("suffix", "damage"),
    [*((s, d) for s in (".nbi", ".nbc") for d in DAMAGES.values()), (".nbc", flip)],
    ids=[*(f"{d}-{s}" for s in ("index", "data") for d in DAMAGES), "flipped-data"],
)
def test_a_damaged_file_is_compiled_anew_and_replaced(suffix, damage, compiled, tmp_path):
    assert (compiled(), compiled()) == (0, 1)
    (file,) = tmp_path.glob(f"*{suffix}")
    file.write_bytes(damage(file.read_bytes()))
    assert (compiled(), compiled()) == (0, 1)
    assert len([*tmp_path.iterdir()]) == 2


@with_numba
def test_a_kernel_may_call_a_kernel(tmp_path):
    # the first is compiled in a thread, which must not wait for another one to compile the second
    @compilation.kernel
    def double(x: int) -> int:
        return x + x

    @compilation.kernel
    def double_twice(x: int) -> int:
        return double(double(x))

    assert double_twice(3) == 12


@with_numba
def test_code_for_other_types_is_not_taken(compiled, tmp_path):
    """An index that could not be read for a while may be older than the file it points to."""
    assert (compiled(1), compiled(1.5), compiled(1), compiled(1.5)) == (0, 0, 1, 1)
    one, two = sorted(tmp_path.glob("*.nbc"))
    shutil.copy(one, two)
    assert compiled(1.5) == 0
    assert (compiled(1), compiled(1.5)) == (1, 1)


@with_numba
def test_code_of_another_numba_is_not_read(compiled, tmp_path, monkeypatch):
    compiled()
    contents = {path: path.read_bytes() for path in tmp_path.glob("*.nbi")}
    monkeypatch.setattr(numba, "__version__", "0.1")
    assert compiled() == 0
    monkeypatch.undo()
    for path, content in contents.items():
        path.write_bytes(content)
    assert compiled() == 0


@with_numba
@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOSPC, errno.EROFS])
def test_what_cannot_be_saved_ends_no_call_and_is_told_once(
    number, compiled, tmp_path, monkeypatch
):
    def refuse(*_):
        raise OSError(number, os.strerror(number), str(tmp_path))

    monkeypatch.setattr(cache._Files, "_open_for_write", refuse)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert (compiled(), compiled()) == (0, 0)
    (warning,) = caught
    assert warning.category is RuntimeWarning
    assert "NUMBA_CACHE_DIR" in str(warning.message)
    assert os.strerror(number) in str(warning.message)


@with_numba
def test_code_of_other_sources_is_not_taken(compiled, tmp_path, monkeypatch):
    """Another process may replace a file between a look at the index and one at the file."""
    compiled()
    (file,) = tmp_path.glob("*.nbc")
    content = file.read_bytes()
    monkeypatch.setattr(cache, "STAMP", "of other sources")
    assert (compiled(), compiled()) == (0, 1)
    file.write_bytes(content)
    assert (compiled(), compiled()) == (0, 1)


@with_numba
def test_without_folders_or_sources_nothing_is_kept(compiled, monkeypatch):
    with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR to a folder"):
        compiled(folders=())
    monkeypatch.setattr(cache, "STAMP", "")
    assert cache.folders("") == []


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
