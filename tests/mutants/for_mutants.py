"""A plugin of pytest for runs against a mutant: no shrinking, and notes of what happens."""

import json
import os
from pathlib import Path

import hypothesis
import pytest


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Let hypothesis stop at the first example that fails; conftest has chosen a profile by now."""
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    hypothesis.settings.register_profile(
        "mutants", hypothesis.settings(), phases=phases, report_multiple_bugs=False
    )
    hypothesis.settings.load_profile("mutants")


def note(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Write down a failure, unless there was one before."""
    path = Path(os.environ["FIRST_FAILURE"])
    if not report.failed or path.exists():
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    message = str(report.longrepr)[-300:] if crash is None else crash.message
    failure = {
        "test": report.nodeid,
        "message": message.strip()[:300],
        # without the compiler numbers are numpy's, which warn where compiled ones do not
        "is_certain": not message.startswith("RuntimeWarning"),
    }
    path.write_text(json.dumps(failure), encoding="utf-8")


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note the test that begins: it may be the last one."""
    Path(os.environ["RUNNING_TEST"]).write_text(nodeid, encoding="utf-8")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a test that fails."""
    note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note a file that cannot be imported."""
    note(report)
