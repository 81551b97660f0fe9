"""Which tests run: long ones, and those that need a heavy extra, only if their marker is named.

A heavy extra is one that takes hundreds of megabytes or processes of its own. It is not part of
`test`, so that the command of the README stays light; the last lines of a run say what that left
untested. `.ci/heavy` installs every heavy extra and runs its tests.
"""

import importlib.util
import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

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


def pytest_sessionstart(session):
    """Compile everything once, instead of in each worker and in the commands that are tested."""
    if not hasattr(session.config, "workerinput"):
        import river_amf  # not before the variables above are set

        river_amf.warm_up()


HERE = Path(__file__).parent


class Heavy(NamedTuple):
    """An extra that the test set-up leaves out: also the name of its marker and its folder."""

    name: str
    module: str
    untested: str
    programs: tuple[str, ...] = ()  # one of these is needed; the first is named as Debian's package

    @property
    def program(self):
        """The path of the first program that is there, or None."""
        return next(filter(None, map(shutil.which, self.programs)), None)

    @property
    def missing(self):
        """Commands that install what is not there, by its name."""
        spec = importlib.util.find_spec(self.module)
        missing = {}
        if spec is None or spec.origin is None:  # an empty folder is a namespace without origin
            missing[self.module] = f'pip install -e ".[{self.name}]"'
        if self.programs and self.program is None:
            missing[self.programs[0]] = f"apt-get install {self.programs[0]}"
        return missing

    def holds(self, path):
        """Return whether a file is about this extra."""
        return Path(path).is_relative_to(HERE / self.name)

    def is_tested(self, config):
        """Return whether the extra is there, and named by -m."""
        return is_named(config, self.name) and not self.missing

    def hint(self):
        """Return what was not tested, and how to test it."""
        command = f"python -m pytest -m {self.name}"
        if not (missing := self.missing):
            return f"{self.untested} was not tested: run {command}"
        names = " and ".join(missing) + (" are" if len(missing) > 1 else " is")
        steps = " && ".join([*missing.values(), command])
        return f"{self.untested} was not tested, as {names} not installed: {steps}"


BROWSER = Heavy("browser", "playwright", "the look of pages", ("chromium", "google-chrome"))
RNN = Heavy("rnn", "keras", "the baseline rnn")
HEAVY = (Heavy("ray", "ray", "river_amf.ray"), RNN, BROWSER)


# Files whose tests take seconds together; of the others, single tests have the marker.
SLOW = re.findall(
    r"\w+",
    """
    baselines benchmarks cache capacity cli cli_files cli_predict cli_regression
    command_robustness comparison copies damage everyday_files futures inside_river
    inspect_regressors keyed large late_labels limits linear_models live many
    mismatch naive naive_regression no_jit notebooks numbers open_files outliers
    package parts paths plot_tree predicted_before progressive recipes records relevance report
    river_models sklearn stateful tracks validation warm_up
    """,
)


def is_named(config, marker):
    """Return whether -m asks for the tests with a marker."""
    return re.search(rf"(?<!not )\b{marker}\b", config.option.markexpr) is not None


def pytest_configure(config):
    """Hide what is not tested from the rest; refuse to start Ray in several processes."""
    if not RNN.missing and not is_named(config, RNN.name):
        sys.modules[RNN.module] = None  # or there would be one more baseline where Keras is
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
    for extra in HEAVY:
        if extra.holds(collection_path):
            return None if extra.is_tested(config) else True
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Set the markers that follow from others or from folders; drop what runs only if named."""
    for item in items:
        if item.get_closest_marker("soak") or item.path.stem.removeprefix("test_") in SLOW:
            item.add_marker("slow")  # so that -m "not slow" excludes it
        for extra in HEAVY:
            if extra.holds(item.path):
                item.add_marker(extra.name)
    unnamed = [name for name in ("soak", *(e.name for e in HEAVY)) if not is_named(config, name)]
    left_out = [item for item in items if any(map(item.get_closest_marker, unnamed))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write_file(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


@pytest.fixture
def no_figures():
    """Close all figures of matplotlib, before a test and after it."""
    from matplotlib import pyplot

    pyplot.close("all")
    yield
    pyplot.close("all")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    """Say which heavy extras were not tested."""
    hints = [extra.hint() for extra in HEAVY if not extra.is_tested(config)]
    if hints:
        terminalreporter.ensure_newline()
        terminalreporter.section("not tested", sep="-")
    for hint in hints:
        terminalreporter.write_line(hint)


@pytest.fixture(scope="session")
def chromium():
    """Return the path of the browser."""
    return BROWSER.program


@pytest.fixture(scope="session")
def one_ray():
    """Start Ray with two CPUs, for the whole run, and stop it."""
    import ray

    from river_amf.ray import cluster

    with tempfile.TemporaryDirectory(
        "", "ray", ignore_cleanup_errors=True
    ) as folder:  # a short path
        cluster.start_here(num_cpus=2, _temp_dir=folder)
        yield
        ray.shutdown()


@pytest.fixture(autouse=True)
def ray_where_it_is_needed(request):
    """Start Ray before the first test that has its marker."""
    if request.node.get_closest_marker("ray"):
        request.getfixturevalue("one_ray")
