"""Set-up of all tests: which of them run, and fixtures.

Long tests, and those of heavy extras, run only if `-m` names their marker. A heavy extra takes
hundreds of megabytes or processes of its own. It is not part of `test`, so that the command of the
README stays light; the last lines of a run list what was left out. `.ci/heavy` installs every heavy
extra and runs its tests.
"""

import functools
import importlib.util
import os
import re
import secrets
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import Phase, settings

# No deadline, because the first example compiles. Derandomized, so a failing test fails again.
settings.register_profile("river_amf", deadline=None, derandomize=True)
settings.load_profile("river_amf")
# For mutants: the first example that fails is enough.
unshrunk = {"phases": (Phase.explicit, Phase.generate), "report_multiple_bugs": False}
settings.register_profile("unshrunk", settings.get_profile("river_amf"), **unshrunk)

os.environ.setdefault("MPLBACKEND", "Agg")  # plots without a display
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # or scikit-learn skips one of its checks

# Before numpy is imported: the networks of `baselines` are so small that BLAS threads on shared
# cores take five times as long as one.
for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# A job in the background of a shell ignores Ctrl-C, and so would the commands that are tested.
with suppress(ValueError):  # not in the main thread
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
# The heavy extras, each of which is a marker and a folder: its module, and what it tests
HEAVY = {"ray": ("ray", "river_amf.ray"), "browser": ("playwright", "the look of pages")}
# Files whose tests take seconds together; of the others, single tests have the marker.
SLOW = re.findall(
    r"\w+",
    """
    baselines benchmarks cache capacity cli cli_predict comparison copies damage
    inside_river inspect_regressors keyed large late_labels limits
    linear_models many mismatch naive naive_regression no_jit notebooks outliers
    package paths plot recipes relevance report sklearn tracks validation warm_up
    """,
)
FILES = {path.stem.removeprefix("test_") for path in HERE.rglob("test_*.py")}
assert FILES.issuperset(SLOW), f"SLOW names files that there are not: {set(SLOW) - FILES}"


def pytest_sessionstart(session):
    """Compile everything once, instead of in each worker and in the commands that are tested."""
    if not hasattr(session.config, "workerinput"):
        import river_amf  # not before the variables above are set

        river_amf.warm_up()


def is_named(config, marker):
    """Return whether -m selects the tests with a marker."""
    return re.search(rf"(?<!not )\b{marker}\b", config.option.markexpr) is not None


def is_tested(config, extra):
    """Return whether a heavy extra is installed, and named by -m."""
    spec = importlib.util.find_spec(HEAVY[extra][0])
    # a folder of tests is a namespace without origin
    return is_named(config, extra) and spec is not None and spec.origin is not None


def folder_of(path):
    """Return the name of the folder of a file within those of the tests."""
    return path.relative_to(HERE).parts[0] if HERE in path.parents else None


def pytest_configure(config):
    """Refuse to start Ray in several processes."""
    if not is_named(config, "ray"):
        return
    if getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("the tests of Ray share one Ray: run them without -n")
    # before Ray is imported: a token for this run, or Ray leaves one in the home folder
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))


def pytest_ignore_collect(collection_path, config):
    """Import nothing of a heavy extra that is not to be tested, or that is not installed."""
    if collection_path.name == "conftest.py":
        return True  # doctests of modules cannot be of two files of one name, and here are none
    extra = folder_of(collection_path)
    return True if extra in HEAVY and not is_tested(config, extra) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Set the markers that follow from others or from folders; drop what runs only if named."""
    for item in items:
        if item.get_closest_marker("soak") or item.path.stem.removeprefix("test_") in SLOW:
            item.add_marker("slow")  # so that -m "not slow" excludes it
        if folder_of(item.path) in HEAVY:
            item.add_marker(folder_of(item.path))
    unnamed = [name for name in ("soak", *HEAVY) if not is_named(config, name)]
    left_out = [item for item in items if any(map(item.get_closest_marker, unnamed))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    """List the heavy extras that were not tested."""
    for extra, (_, what) in HEAVY.items():
        if not is_tested(config, extra):
            command = f'pip install -e ".[{extra}]" && python -m pytest -m {extra}'
            terminalreporter.write_line(f"not tested: {what} ({command})")


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write_file(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


@pytest.fixture
def path(tmp_path):
    """Return where a test may write the file of a model, in a folder of its own."""
    return tmp_path / "model.amf"


@pytest.fixture
def chunks(monkeypatch):
    """Return how many rows are learned in chunks, by stretch; fail if there are none.

    Two ordinary rows in a row suffice for a chunk.
    """
    from river_amf.engine import blocks

    sizes, prepare = [], blocks.EncodedBlock.prepare

    def prepare_and_note(block, arena, n_samples, *, learns, **more):
        sizes.extend([n_samples] * learns)
        prepare(block, arena, n_samples, learns=learns, **more)

    monkeypatch.setattr(blocks.EncodedBlock, "prepare", prepare_and_note)
    monkeypatch.setattr(blocks, "MIN_CHUNK_ROWS", 2)
    yield sizes
    assert sizes, "no chunk was learned"


@pytest.fixture
def no_figures():
    """Close all figures of matplotlib, before a test and after it."""
    from matplotlib import pyplot

    pyplot.close("all")
    yield
    pyplot.close("all")


@pytest.fixture(scope="session")
def chromium():
    path = shutil.which("chromium") or shutil.which("google-chrome")
    assert path, "the browser is missing: apt-get install chromium"
    return path


@pytest.fixture(scope="session")
def one_ray():
    """Start Ray with two CPUs, for the whole run, and stop it; return what starts it again."""
    import ray

    # a short path
    with tempfile.TemporaryDirectory("", "ray", ignore_cleanup_errors=True) as folder:
        quiet = {"include_dashboard": False, "logging_level": "WARNING"}
        start = functools.partial(ray.init, num_cpus=2, _temp_dir=folder, **quiet)
        start()
        yield start
        ray.shutdown()


@pytest.fixture(autouse=True)
def ray_where_it_is_needed(request):
    """Start Ray before the first test that has its marker."""
    if request.node.get_closest_marker("ray"):
        request.getfixturevalue("one_ray")
