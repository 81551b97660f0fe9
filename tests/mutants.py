"""Break one formula of DESIGN.md at a time: a test must fail each time.

Run it with the interpreter of an environment that has the test extra:

    python tests/mutants.py                          # all mutants
    python tests/mutants.py "share of a node" "scale of an interval"

A mutant is a copy of the package with one rule broken. `tests/mutants.toml` has its name, the rule
in words, the file, the text to replace, the new text, and the tests of which one must fail. They
run without the compiler, which is quicker than compiling each copy. The exit code is 1 if there is
a mutant of which all tests pass.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "mutants.toml"
SECONDS = 900.0  # for the tests of a mutant


@dataclass(frozen=True)
class Mutant:
    """A rule, how to break it, and the tests of which one must fail."""

    name: str
    rule: str
    file: str  # in the package
    old: str
    new: str
    tests: list[str]  # in the folder of the tests

    def is_found_in(self, package: Path) -> bool:
        """Return whether the text to replace is in its file exactly once."""
        return (package / self.file).read_text(encoding="utf-8").count(self.old) == 1

    def apply(self, package: Path) -> None:
        path = package / self.file
        source = path.read_text(encoding="utf-8")
        path.write_text(source.replace(self.old, self.new), encoding="utf-8")


def mutants() -> dict[str, Mutant]:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {entry["name"]: Mutant(**entry) for entry in table["mutant"]}


def dies(mutant: Mutant) -> tuple[bool, str]:
    """Run the tests on a mutant; return whether one failed, and a line about it."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        folder = Path(name).resolve()
        ignored = shutil.ignore_patterns("__pycache__", "benchmarks")
        for part in ("river_amf", "tests"):
            shutil.copytree(ROOT / part, folder / part, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", folder)
        if not mutant.is_found_in(folder / "river_amf"):
            raise SystemExit(f"{mutant.name}: its text is not in {mutant.file} exactly once")
        mutant.apply(folder / "river_amf")
        # numbers are numpy's without the compiler, and warn where compiled ones do not
        options = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::RuntimeWarning"]
        options.append("--hypothesis-profile=unshrunk")
        tests = [f"tests/{test}" for test in mutant.tests]
        try:
            run = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *tests],
                cwd=folder,
                env=os.environ | {"PYTHONPATH": str(folder), "NUMBA_DISABLE_JIT": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return False, f"not done after {SECONDS:.0f} s"
        lines = run.stdout.strip().splitlines()
        failures = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
        if run.returncode == 0 or failures:
            return run.returncode != 0, (failures or lines)[-1]
        raise SystemExit(f"{mutant.name}: pytest answered {run.returncode}: {lines[-1:]}")


def main() -> int:
    """Run the mutants named on the command line, or all; returns the exit code."""
    table = mutants()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants; all by default")
    names = parser.parse_args().names or list(table)
    if unknown := [name for name in names if name not in table]:
        parser.error(f"no such mutant: {', '.join(unknown)}")
    alive = 0
    for name in names:
        start = time.monotonic()
        is_dead, line = dies(table[name])
        alive += not is_dead
        what = "killed" if is_dead else f"ALIVE ({table[name].rule})"
        print(f"{time.monotonic() - start:6.1f} s  {name}: {what}: {line}", flush=True)
    print(f"{len(names)} mutants, {alive} alive")
    return int(alive > 0)


if __name__ == "__main__":
    sys.exit(main())
