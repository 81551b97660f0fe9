"""Break one rule of the mathematics at a time, and see which test notices.

Run by hand, with the interpreter of an environment that has the test extra:

    python tests/mutants.py                          # all mutants, half an hour on one core
    python tests/mutants.py "mass handed on" unchanged
    python tests/mutants.py --report mutants.md --jobs 2
    python tests/mutants.py --tests "tests/model -k naive"

A mutant is a copy of the package with one rule broken: `tests/mutants/*.toml` has the name, the
rule in words, the file, the text to replace, the text to put there, and the tests most likely to
notice. These come first, without the compiler where that is faster; only if they pass does the
mutant have to get through the whole suite of the model and of dataframes. `unchanged` is the
package as it is, which every test has to pass.

A mutant that stays alive shows a rule that no test holds, or is the same program written
differently. The exit code is 1 if any stays alive.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLES = HERE / "mutants"
PLUGIN = "for_mutants"  # beside the tables

UNCHANGED = "unchanged"
KILLED, ALIVE, STALE, BROKEN = "killed", "alive", "stale", "broken"

# What is hardest to get past comes first, and what compiles again and again last.
FIRST = [
    "model/test_naive.py",
    "model/test_naive_regression.py",
    "model/test_invariants.py",
    "model/test_law.py",
    "model/test_fading.py",
    "model/test_relevance.py",
    "model/test_vote.py",
    "model/test_restarts.py",
    "model/test_outliers.py",
    "model/test_long_lists.py",
]
LAST = ["model/test_cache.py", "model/test_no_jit.py"]
FOLDERS = ["dataframes", "model"]

# Tests that end sooner without the compiler, which takes half a minute for a new package.
UNCOMPILED = {
    "model/test_dummy.py",
    "model/test_encoding.py",
    "model/test_invariants.py",
    "model/test_long_lists.py",
    "model/test_naive.py",
    "model/test_naive_regression.py",
    "model/test_paths.py",
    "model/test_restarts.py",
    "model/test_words.py",
}
UNCOMPILED_SECONDS = 300


@dataclass
class Mutant:
    """A rule, and how to break it."""

    name: str
    rule: str
    file: str = ""  # in the package; empty for none
    old: str = ""
    new: str = ""
    tests: Sequence[str] = ()  # that are likely to notice


@dataclass
class Verdict:
    """What became of a mutant."""

    name: str
    rule: str
    file: str
    outcome: str
    by: str = ""  # the test that noticed
    message: str = ""
    compiled: bool = True
    seconds: float = 0.0


@dataclass
class Failure:
    """The first test that failed."""

    test: str
    message: str
    is_certain: bool = True  # to fail once it is compiled, too


class NotRun(Exception):
    """Pytest did not run the tests, or there were none."""


def mutants() -> list[Mutant]:
    """Return all mutants, in the order of the tables."""
    found = []
    for path in sorted(TABLES.glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        for entry in table["mutant"]:
            found.append(Mutant(**({"tests": table["tests"]} | entry)))
    return found


def located(checkout: Path, test: str) -> str | None:
    """Return where a test lies in a checkout, in its folder or flat, None if it is not there."""
    file, *node = test.split("::")
    for place in (f"tests/{file}", f"tests/{Path(file).name}"):
        if (checkout / place).exists():
            return "::".join([place, *node])
    return None


def all_located(checkout: Path, tests: Iterable[str]) -> list[str]:
    """Return where those of the tests lie that are there."""
    return [place for test in tests if (place := located(checkout, test)) is not None]


def suite(checkout: Path) -> list[str]:
    """Return the tests of the model and of dataframes, those first that are hardest to get past."""
    others = [
        f"{folder}/{path.name}"
        for folder in FOLDERS
        for path in sorted((checkout / "tests" / folder).glob("test_*.py"))
    ]
    middle = [test for test in others if test not in FIRST and test not in LAST]
    return all_located(checkout, [*FIRST, *middle, *LAST])


def apply(mutant: Mutant, package: Path) -> str:
    """Break the rule in a copy of the package; returns what is wrong with the mutant, if anything.

    The text may have changed since the mutant was written.
    """
    if not mutant.file:
        return ""
    path = package / mutant.file
    if not path.is_file():
        return f"there is no {mutant.file}"
    source = path.read_text(encoding="utf-8")
    n_found = source.count(mutant.old)
    if n_found != 1:
        return f"its text occurs {n_found} times in {mutant.file}"
    path.write_text(source.replace(mutant.old, mutant.new), encoding="utf-8")
    return ""


def copy_checkout(checkout: Path, target: Path) -> None:
    """Copy what the tests of the model need of a checkout."""
    ignored = shutil.ignore_patterns("__pycache__", "benchmarks", "mutants*")
    for name in ("river_amf", "tests"):
        shutil.copytree(checkout / name, target / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(checkout / name, target / name)


def environment(folder: Path, *, compiled: bool) -> dict[str, str]:
    """Return the variables under which the copy in a folder is imported, and compiled anew."""
    variables = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder), str(TABLES)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "FIRST_FAILURE": str(folder / "failure.json"),
        "RUNNING_TEST": str(folder / "running.txt"),
    }
    variables.pop("NUMBA_DISABLE_JIT", None)
    return variables if compiled else variables | {"NUMBA_DISABLE_JIT": "1"}


def imported(folder: Path) -> str:
    """Return the file of the package that the tests in a folder import, or why they cannot."""
    run = subprocess.run(
        [sys.executable, "-c", "import river_amf; print(river_amf.__file__)"],
        cwd=folder,
        env=environment(folder, compiled=False),
        capture_output=True,
        text=True,
    )
    return run.stdout.strip() if run.returncode == 0 else run.stderr.strip()[-300:]


def failure_of(folder: Path, tests: list[str], seconds: float, *, compiled: bool) -> Failure | None:
    """Run tests until one fails; returns it, None if none does."""
    note = folder / "failure.json"
    note.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", PLUGIN]
    try:
        run = subprocess.run(
            [*command, *tests],
            cwd=folder,
            env=environment(folder, compiled=compiled),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return Failure(running(folder), f"not done after {seconds:.0f} s", is_certain=compiled)
    if run.returncode == 0:
        return None
    if note.exists():
        return Failure(**json.loads(note.read_text(encoding="utf-8")))
    if run.returncode < 0:
        return Failure(running(folder), f"the interpreter died of signal {-run.returncode}")
    raise NotRun(f"pytest answered {run.returncode}: {run.stdout.strip()[-300:]}")


def running(folder: Path) -> str:
    """Return the test that was running when pytest came to its end."""
    note = folder / "running.txt"
    return note.read_text(encoding="utf-8") if note.exists() else "no test"


def verdict_on(mutant: Mutant, checkout: Path, tests: list[str], seconds: float) -> Verdict:
    """Make a mutant and let the tests loose on it."""
    start = time.monotonic()
    verdict = Verdict(mutant.name, mutant.rule, mutant.file, ALIVE)
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        folder = Path(name).resolve()
        copy_checkout(checkout, folder)
        verdict.message = apply(mutant, folder / "river_amf")
        if verdict.message:
            verdict.outcome = STALE
            return verdict
        package = imported(folder)
        if package != str(folder / "river_amf" / "__init__.py"):
            verdict.outcome, verdict.message = BROKEN, f"imported: {package}"
            return verdict
        for which, limit, compiled in rounds(mutant, checkout, tests, seconds):
            try:
                failure = failure_of(folder, which, limit, compiled=compiled)
            except NotRun as error:
                if which is tests:
                    verdict.outcome, verdict.message = BROKEN, str(error)
                continue  # a likely test may be gone
            if failure is not None and (compiled or failure.is_certain):
                verdict.outcome, verdict.compiled = KILLED, compiled
                verdict.by = failure.test
                verdict.message = failure.message
                break
    verdict.seconds = round(time.monotonic() - start, 1)
    return verdict


def rounds(
    mutant: Mutant, checkout: Path, tests: list[str], seconds: float
) -> list[tuple[list[str], float, bool]]:
    """Return which tests to run in turn, for how many seconds at most, and whether compiled."""
    uncompiled = [test for test in mutant.tests if test.split("::")[0] in UNCOMPILED]
    compiled = [test for test in mutant.tests if test not in uncompiled]
    likely = [
        (all_located(checkout, uncompiled), UNCOMPILED_SECONDS, False),
        (all_located(checkout, compiled), seconds, True),
    ]
    return [*(turn for turn in likely if turn[0]), (tests, seconds, True)]


def line_of(verdict: Verdict) -> str:
    """Return a verdict in a line for the terminal."""
    what = verdict.by if verdict.outcome == KILLED else verdict.message or verdict.rule
    return f"{verdict.outcome:7} {verdict.seconds:6.1f} s  {verdict.name}: {what}"


def summary_of(verdicts: list[Verdict], seconds: float) -> str:
    """Return how many mutants there were, and what became of them."""
    outcomes = [verdict.outcome for verdict in verdicts]
    counts = [f"{outcomes.count(what)} {what}" for what in (KILLED, ALIVE, STALE, BROKEN)]
    return f"{len(verdicts)} mutants: {', '.join(counts)}, in {seconds / 60.0:.0f} minutes"


def write_report(path: Path, verdicts: list[Verdict], seconds: float) -> None:
    """Write what became of the mutants as JSON, or as a table in Markdown."""
    if path.suffix == ".json":
        report = {
            "summary": summary_of(verdicts, seconds),
            "mutants": [asdict(verdict) for verdict in verdicts],
        }
        path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        return
    lines = [summary_of(verdicts, seconds), "", "| mutant | rule | |", "|---|---|---|"]
    for verdict in verdicts:
        what = verdict.by if verdict.outcome == KILLED else verdict.outcome.upper()
        cells = (verdict.name, verdict.rule, what)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def chosen(names: list[str]) -> list[Mutant]:
    """Return the mutants of these names, or all of them."""
    known = {mutant.name: mutant for mutant in mutants()}
    if not names:
        return list(known.values())
    known[UNCHANGED] = Mutant(UNCHANGED, "the package as it is")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no such mutant: {', '.join(unknown)}")
    return [known[name] for name in names]


def main() -> int:
    """Run the mutants named on the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants; all by default")
    parser.add_argument("--tests", help="arguments of pytest in place of the whole suite")
    parser.add_argument("--jobs", type=int, default=1, help="how many mutants at a time")
    parser.add_argument("--report", type=Path, metavar="FILE", help="ends in .json or .md")
    parser.add_argument("--checkout", type=Path, default=HERE.parent, help="another checkout")
    parser.add_argument("--seconds", type=float, default=1200.0, help="limit of a run of pytest")
    options = parser.parse_args()
    checkout = options.checkout.resolve()
    tests = shlex.split(options.tests) if options.tests else suite(checkout)
    verdicts: list[Verdict] = []
    start = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(
            lambda mutant: verdict_on(mutant, checkout, tests, options.seconds),
            chosen(options.names),
        )
        for verdict in results:
            print(line_of(verdict), flush=True)
            verdicts.append(verdict)
            if options.report:
                write_report(options.report, verdicts, time.monotonic() - start)
    print(summary_of(verdicts, time.monotonic() - start))
    return int(any(verdict.outcome != KILLED for verdict in verdicts if verdict.file))


if __name__ == "__main__":
    sys.exit(main())
