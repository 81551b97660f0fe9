"""Attacks run in processes of their own, so that a crash or a hang is no more than a failure.

An attack is a function of a module in this folder, `attack(rng, seconds)`: it does to a model what
a hostile world may do, and raises AssertionError if the model is no longer sound. By hand, from
the root of the repository:

    python tests/robustness/attacks.py threads.four_learn 200 [seconds] [first seed]
"""

import faulthandler
import importlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
PATIENCE = 120.0  # seconds beyond its own time after which an attack counts as hanging
COMPILING = 600.0

Run = tuple[str, int]  # an attack, as "module.function", and its seed


@dataclass
class Survey:
    """What became of some runs."""

    outcomes: dict[Run, str]  # "sound", "corrupt", "hang", or how the process ended
    reports: list[str]  # about each run that is not sound

    def __str__(self) -> str:
        kinds = Counter(outcome.split()[0] for outcome in self.outcomes.values())
        counts = [f"{kinds[kind]} {noun}" for kind, noun in NOUNS.items()]
        return "\n".join([f"{len(self.outcomes)} runs: {', '.join(counts)}", *self.reports])

    @property
    def is_sound(self) -> bool:
        """Whether every run ended well."""
        return set(self.outcomes.values()) == {"sound"}


NOUNS = {"crash": "crashes", "hang": "hangs", "corrupt": "corrupt"}


def survey(runs: Sequence[Run], seconds: float, patience: float = PATIENCE) -> Survey:
    """Run attacks in one process after the other: whenever one crashes or hangs, in the next."""
    result = Survey({}, [])
    remaining = list(runs)
    while remaining:
        n_before = len(result.outcomes)
        _run_some(remaining, seconds, patience, result)
        if len(result.outcomes) == n_before:
            raise RuntimeError("the process ended before the first attack:\n" + result.reports[-1])
        remaining = remaining[len(result.outcomes) - n_before :]
    return result


def _run_some(runs: Sequence[Run], seconds: float, patience: float, result: Survey) -> None:
    """Run attacks in one process, as far as it gets."""
    command = [sys.executable, str(HERE / "attacks.py"), "--child", str(seconds), str(patience)]
    command += [f"{name}:{seed}" for name, seed in runs]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0", "PYTHONUNBUFFERED": "1"}
    limit = COMPILING + (patience + seconds) * len(runs)
    with tempfile.TemporaryDirectory() as folder:  # children of an attack may keep pipes open
        out, errors = Path(folder, "out"), Path(folder, "errors")
        with out.open("w") as stdout, errors.open("w") as stderr:
            process = subprocess.run(
                command, env=environment, stdout=stdout, stderr=stderr, cwd=folder, timeout=limit
            )
        lines, trace = out.read_text().splitlines(), errors.read_text()
    ended = 0
    for line in lines:
        outcome, _, text = line.partition(" ")
        if outcome == "ended":
            outcome, _, text = text.partition(" ")
            result.outcomes[runs[ended]] = outcome
            ended += 1
            if outcome == "corrupt":
                result.reports.append(text.encode().decode("unicode_escape"))
    if trace and "corrupt" in result.outcomes.values():
        result.reports.append(trace[-6000:])  # of children too
    if ended < len(runs):
        has_begun = sum(line.startswith("begin ") for line in lines) > ended
        outcome = _ending(process.returncode, trace)
        report = f"{'{} seed {}'.format(*runs[ended])}: {outcome}\n{trace[-6000:]}"
        result.reports.append(report if has_begun else trace[-6000:])
        if has_begun:
            result.outcomes[runs[ended]] = outcome


def _ending(code: int, trace: str) -> str:
    """Return how a process ended."""
    if "Timeout (" in trace:
        return "hang"
    return f"crash ({signal.Signals(-code).name if code < 0 else f'exit {code}'})"


def _child(seconds: float, patience: float, runs: Sequence[Run]) -> None:
    """Run attacks in this process, and say how each of them ends."""
    warnings.simplefilter("ignore", DeprecationWarning)  # of forks in a process with threads
    faulthandler.enable()
    faulthandler.dump_traceback_later(COMPILING, exit=True)
    _warm_up()
    for name, seed in runs:
        print("begin", name, seed)
        faulthandler.dump_traceback_later(seconds + patience, exit=True)
        module, _, function = name.partition(".")
        try:
            getattr(importlib.import_module(module), function)(random.Random(seed), seconds)
            print("ended sound")
        except Exception:
            text = f"{name} seed {seed}: corrupt\n{traceback.format_exc()[-6000:]}"
            print("ended corrupt", text.encode("unicode_escape").decode())
    faulthandler.cancel_dump_traceback_later()


def _warm_up() -> None:
    """Compile or load all that an attack may call, so that it takes no time of an attack."""
    frame = pd.DataFrame({"a": range(40)})
    for kind in (AMFClassifier, AdaptiveAMFClassifier):
        model = kind(n_estimators=2, n_jobs=2, seed=1)
        for i in range(3):
            model.learn_one({"a": i}, i % 2)
            model.predict_one({"a": i})
        model.predict_proba_then_learn_many(frame, [*range(40)])
        model.debug_one({"a": 1})
        model.__getstate__()
    for kind in (AMFRegressor, AdaptiveAMFRegressor):
        model = kind(n_estimators=2, n_jobs=2, seed=1)
        for i in range(3):
            model.learn_one({"a": i}, i % 2)
            model.predict_interval_one({"a": i})
        model.predict_then_learn_many(frame, [*range(40)])
        model.predict_interval_many(frame)
        model.debug_one({"a": 1})
        model.__getstate__()


def main() -> None:
    """Attack as the command line says."""
    if sys.argv[1] == "--child":
        sys.path.insert(0, str(TESTS))
        seconds, patience, *texts = sys.argv[2:]
        runs = [text.split(":") for text in texts]
        _child(float(seconds), float(patience), [(name, int(seed)) for name, seed in runs])
    else:
        name, n_runs = sys.argv[1], int(sys.argv[2])
        seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 1.0
        first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
        print(survey([(name, first + i) for i in range(n_runs)], seconds))


if __name__ == "__main__":
    main()
