"""Which tests a run leaves out, and what its last lines say of them."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow

TESTS = {
    "tests/test_light.py": "def test_light(): pass",
    "tests/ray/test_heavy.py": "import heavy\n\ndef test_heavy(): pass",
    "tests/test_soak.py": "import pytest\n\n@pytest.mark.soak\ndef test_soak(): pass",
    "tests/ray/test_both.py": "import pytest\n\n@pytest.mark.soak\ndef test_both(): pass",
    "pytest.ini": "[pytest]\nmarkers =\n    ray\n    slow\n    soak\n",
}
TABLE = 'HEAVY = (Heavy("ray", "heavy", "river_amf.ray", "ray"),)'


@pytest.fixture
def project(tmp_path):
    """Return a folder with our conftest.py and tests of an extra `ray`, whose module is `heavy`."""
    conftest = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    edited = conftest.partition('@pytest.fixture(scope="session")')[0]  # what starts Ray
    edited, n_tables = re.subn(r"^HEAVY = .*$", TABLE, edited, flags=re.MULTILINE)
    assert n_tables == 1
    edited = edited.replace("def pytest_sessionstart", "def sessionstart")  # there is no forest
    for name, text in {**TESTS, "tests/conftest.py": edited}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def install(project):
    (project / "heavy.py").write_text("")


def run(project, *options):
    """Return the names of the tests that ran, the last lines and what went wrong."""
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    ran = {line.split(" ")[0].partition("::")[2] for line in lines if " PASSED " in line}
    return ran, lines[-2:-1], done.stderr


def test_what_is_not_installed_is_not_tested_and_the_last_line_reports_how(project):
    (project / "tests" / "heavy").mkdir()  # an empty folder of that name is not it
    hint = (
        "river_amf.ray was not tested, as heavy is not installed: "
        'pip install -e ".[ray]" && python -m pytest -m ray'
    )
    assert run(project) == ({"test_light"}, [hint], "")
    assert run(project, "-m", "ray or soak") == ({"test_soak"}, [hint], "")


def of_conftest(pytestconfig, name):
    """Return something of our conftest.py."""
    return next(
        getattr(p, name) for p in pytestconfig.pluginmanager.get_plugins() if hasattr(p, name)
    )


@pytest.mark.skipif(os.name != "posix", reason="a program is made of a shell script")
def test_an_extra_may_need_a_program_too(pytestconfig, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    def hint(module):
        extra = of_conftest(pytestconfig, "Heavy")("x", module, "It", "x", ("browse", "surf"))
        return extra.is_installed, extra.hint()

    both = "It was not tested, as heavy and browse are not installed: "
    both += 'pip install -e ".[x]" && apt-get install browse && python -m pytest -m x'
    assert hint("heavy") == (False, both)
    browse = "It was not tested, as browse is not installed: "
    browse += "apt-get install browse && python -m pytest -m x"
    assert hint("json") == (False, browse)
    (tmp_path / "surf").write_text("#!/bin/sh\n")
    (tmp_path / "surf").chmod(0o755)
    assert hint("json") == (True, "It was not tested: run python -m pytest -m x")


def test_what_is_installed_is_tested_only_if_it_is_named(project):
    install(project)
    hint = "river_amf.ray was not tested: run python -m pytest -m ray"
    assert run(project, "-m", "not ray") == ({"test_light"}, [hint], "")
    ran, last, errors = run(project, "-m", "ray and soak")
    assert (ran, errors) == ({"test_both"}, "")
    assert "not tested" not in last[0]


@pytest.mark.soak
def test_the_tests_of_ray_refuse_several_processes(project):
    install(project)
    _, _, errors = run(project, "-m", "ray", "-n", "2")
    assert errors == "ERROR: the tests of Ray share one Ray: run them without -n\n\n"


def test_every_heavy_extra_is_an_extra_with_a_marker_that_ci_installs_and_tests(pytestconfig):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    ci = (ROOT / ".ci" / "heavy").read_text(encoding="utf-8")
    installed = re.search(r'-e "\.\[([\w,]+)\]"\n(?:.*\n)*.*-m pytest -m', ci)[1].split(",")
    for extra in of_conftest(pytestconfig, "HEAVY"):
        assert extra.name in extras
        assert f"river-amf[{extra.name}" not in "".join(extras["test"])
        assert any(line.startswith(f"{extra.name}: ") for line in pytestconfig.getini("markers"))
        assert extra.name in installed
        assert all(program in ci for program in extra.programs)
        assert f"heavy_tests {extra.name} " in ci
        assert extra.folder == extra.name  # as `heavy_tests` has it
        assert (ROOT / "tests" / extra.folder).is_dir()
