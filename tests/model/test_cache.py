"""Compiled code on disk: reused by other processes, never for other sources, never required."""

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from unittest.mock import Mock

import numba
import pytest

import river_amf
from river_amf.kernels.numba_tools import cache

PACKAGE = Path(river_amf.__file__).parent
LAYOUT = PACKAGE / "state" / "layout.py"
# a kernel that calls a helper of another file, with the decorators of the package
HELPER = """
from river_amf.kernels.numba_tools.compilation import helper
half_of = helper(lambda x: x * +0.5)
"""
KERNEL = """
from river_amf.kernels.helping import half_of
from river_amf.kernels.numba_tools.compilation import kernel

@kernel
def half(forest: "Forest", x: "float") -> "float":
    return half_of(x)
"""
CALL = """
from river_amf.kernels.halving import half
from river_amf.kernels.numba_tools import cache
print(half.of(0)(0, 7.0), sum(half._compiled.stats.cache_hits.values()), cache.FOLDER)
"""

# the end of the process while a thread compiles, as after Ctrl-C
INTERRUPT = """
import sys, time
from river_amf.kernels.halving import half
from river_amf.kernels.numba_tools import progress
progress.show = lambda *_: time.sleep(0.1) or sys.exit(print(0, 0, "interrupted"))
half.of(0)
"""
# as a version of Numba could that has other names; for one helper, and where a kernel includes them
FAULTS = {
    "no library": "halfway._HelperLibrary = None",
    "no machine code": "del halfway.parse_assembly",
    "a pass is needed": "halfway._UNUSED.add('NopythonTypeInference')",
    "no linking": "halfway._HelperLibrary._get_module_for_linking = None",
}


@pytest.fixture
def package(tmp_path):
    copy, tools = tmp_path / "copy" / "river_amf", Path("kernels", "numba_tools")
    shutil.copytree(PACKAGE / tools, copy / tools, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "state").mkdir()
    shutil.copy2(LAYOUT, copy / "state")
    for folder in (copy, copy / "state", copy / "kernels"):
        (folder / "__init__.py").touch()
    (copy / "kernels" / "helping.py").write_text(HELPER)
    (copy / "kernels" / "halving.py").write_text(KERNEL)
    return copy


def call(package, n_warnings=0, with_child=False, code=CALL, **variables):
    """Call the kernel in a new process; return its result, the hits in the cache and the folder."""
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CALL!r}])"
    environment = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
    environment |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"} | variables
    options = {"cwd": package.parent, "env": environment, "capture_output": True, "text": True}
    run = subprocess.run([sys.executable, "-c", code + child * with_child], **options)
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("RuntimeWarning: ") == run.stderr.count("NUMBA_CACHE_DIR") == n_warnings
    result, hits, folder = run.stdout.split()[-3:]
    return float(result), int(hits), Path(folder)


def test_code_is_reused_until_a_source_changes(package):
    folder = package / "kernels" / "__pycache__" / "numba"
    assert [call(package) for _ in range(2)] == [(3.5, 0, folder), (3.5, 1, folder)]
    helper = package / "kernels" / "helping.py"
    times = helper.stat().st_atime_ns, helper.stat().st_mtime_ns
    helper.write_text(helper.read_text().replace("+0.5", "-0.5"))
    os.utime(helper, ns=times)  # as in an upgrade
    assert [call(package) for _ in range(2)] == [(-3.5, 0, folder), (-3.5, 1, folder)]
    assert {*(PACKAGE / "kernels").rglob("*.py"), LAYOUT} == {*cache.SOURCES}


def test_chosen_folder_has_one_for_each_installation(package, tmp_path):
    shutil.copytree(package, other := tmp_path / "other" / "river_amf")
    chosen = {"NUMBA_CACHE_DIR": str(tmp_path / "chosen")}
    assert [call(p, **chosen)[1] for p in (package, other, package)] == [0, 0, 1]


def test_process_without_a_folder_warns(package, tmp_path):
    (nowhere := tmp_path / "file").touch()  # below which not even root can create a folder
    (package / "kernels" / "__pycache__").symlink_to(nowhere)
    home = dict.fromkeys(("XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"), str(tmp_path / "cache"))
    (_, first, _), (_, second, folder) = (call(package, **home) for _ in range(2))
    assert (first, second) == (0, 1) and tmp_path / "cache" in folder.parents
    places = dict.fromkeys(("NUMBA_CACHE_DIR", *home), str(nowhere))
    assert call(package, n_warnings=1, with_child=True, **places) == (3.5, 0, Path("None"))


def test_read_only_folder_with_code_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "TemporaryFile", Mock(side_effect=PermissionError))
    assert tmp_path not in cache.folder().parents
    (place,) = tmp_path.iterdir()
    (place / "learning.learn_sample.nbi").touch()
    assert cache.folder() == place


@pytest.mark.parametrize(("suffix", "content"), [(".nbi", b"something else"), (".nbc", b"")])
def test_damaged_file_is_replaced(suffix, content, package):
    (file,) = call(package)[2].glob(f"*{suffix}")
    file.write_bytes(content)
    assert [call(package)[:2] for _ in range(2)] == [(3.5, 0), (3.5, 1)]


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_halfway_compiles_ordinarily(fault, package):
    before = f"from river_amf.kernels.numba_tools import halfway\n{FAULTS[fault]}"
    code = f"{before}{CALL}assert not halfway.IS_ON"
    assert call(package, code=code)[:2] == (3.5, 0)
    assert call(package)[:2] == (3.5, 1)


def test_ways_to_compile_share_no_code(package):
    other = {"RIVER_AMF_ORDINARY_COMPILER": "1"}
    assert [call(package, **way)[1] for way in ({}, other, other, {})] == [0, 0, 1, 0]


def test_interrupted_kernel_is_kept(package):
    assert call(package, code=INTERRUPT)[2] == Path("interrupted")
    assert call(package)[:2] == (3.5, 1)


def test_full_disk_warns_once(monkeypatch):
    refuse = Mock(side_effect=OSError(28, "No space left on device", "tmp.1"))
    monkeypatch.setattr(cache.FunctionCache, "save_overload", refuse)
    monkeypatch.setattr(os, "environ", {})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            cache.KernelCache(call).save_overload((), None)
    (warning,) = caught
    assert "No space left on device); set NUMBA_CACHE_DIR" in str(warning.message)
