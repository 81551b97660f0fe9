"""Run a recipe of RECIPES.md over a file in the place of Kafka, in a process that may be killed.

    python tests/recipes.py RECIPE FOLDER [DEADLY]

The log is in FOLDER, and so is all that a run leaves. Before operation number DEADLY on files or
folders, of those that Python reports, the process kills itself.
"""

import itertools
import json
import math
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

RECIPES = Path(__file__).resolve().parents[1] / "river_amf" / "RECIPES.md"
BATCH = 40  # messages
EVERY = 100  # messages between two checkpoints, which batches do not divide
REFUSED = [
    {"x": {"user": "a", "size": math.inf}},
    {"x": {"user": "a", "color": ["b"]}},
    {"x": 5},
    {"y": None},
]
OPERATIONS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}


def code():
    """Return the code of the document."""
    text = RECIPES.read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def write_log(folder, n_rows):
    """Write a log: features, and for most of them later a label; and what no model takes."""
    draw, waiting, messages = random.Random(1), [], []
    for number in range(n_rows):
        x = {"size": draw.random(), "user": draw.choice("abcde")}
        if draw.random() < 0.8:
            x["color"] = draw.choice(["red", "green", "blue"])
        messages.append({"key": number, "x": x})
        label = x["size"] + 0.3 * (x.get("color") == "red") > 0.6
        waiting.append({"key": number, "y": "big" if label else "small"})
        while draw.random() < 0.5 and len(waiting) > 20:
            messages.append(waiting.pop(draw.randrange(len(waiting))))
    for place, message in enumerate(REFUSED):
        messages.insert(30 * place, {"key": f"refused {place}"} | message)
    lines = [json.dumps(message) for message in messages]
    (folder / "log.jsonl").write_text("\n".join(lines) + "\n")


def run(recipe, folder, deadly):
    """Run a recipe to its end, and leave the model and all that was published."""
    names = {}
    exec(compile(code(), str(RECIPES), "exec"), names)
    lines = (folder / "log.jsonl").read_text().splitlines()

    def read(offset):
        if offset:
            time.sleep(0.005)  # so that there are moments to be killed at
        else:
            print("reading", flush=True)
        return [json.loads(line) for line in lines[offset : offset + BATCH]]

    def publish(keys, predictions):
        pairs = zip(keys, predictions, strict=True)
        with (folder / "published.jsonl").open("a") as file:
            file.write("".join(json.dumps(pair) + "\n" for pair in pairs))

    counter = itertools.count(1)

    def count(event, arguments):
        is_ours = event in OPERATIONS and str(folder / "state") in str(arguments[0])
        if is_ours and next(counter) == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    model = names[recipe](read, publish, folder / "state", every=EVERY)
    n_operations = next(counter) - 1
    (folder / "model.pickle").write_bytes(pickle.dumps(plain(model, folder)))
    print(n_operations, flush=True)


def plain(model, folder):
    """Return an object whose pickle is the same for equal models."""
    if hasattr(model, "n_workers"):
        model.save(folder / "workers.amf")
        return (folder / "workers.amf").read_bytes()
    if hasattr(model, "flush"):
        return [(key, pickle.dumps(model[key])) for key in sorted(model)]  # they share no strings
    return model


def start(recipe, folder, deadly=0):
    """Start a run in a process of its own."""
    command = [sys.executable, "-W", "error", __file__, recipe, str(folder), str(deadly)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(recipe, folder):
    """Run a recipe to its end; return the pickled model and the number of operations on files."""
    with start(recipe, folder) as child:
        printed = child.communicate(timeout=300)[0].split()
    assert child.returncode == 0
    return (folder / "model.pickle").read_bytes(), int(printed[-1])


def kill_at(recipe, folder, operation=0, seconds=None):
    """Start a run and kill it before an operation on files, or within so many seconds of its work.

    Returns whether it was killed before its end.
    """
    with start(recipe, folder, operation) as child:
        if seconds is not None:
            child.stdout.readline()
            time.sleep(seconds)
            child.kill()
        child.communicate(timeout=300)
    return child.returncode == -signal.SIGKILL


def check(recipe, tmp_path, n_kills, seed, n_rows=400, longest=0.5):
    """Kill a recipe at random moments, and compare what it leaves with an uninterrupted run."""
    draw, n_killed = random.Random(seed), 0
    calm, stormy = tmp_path / "calm", tmp_path / "stormy"
    for folder in (calm, stormy):
        folder.mkdir()
        write_log(folder, n_rows)
    expected, n_operations = finish(recipe, calm)
    for kill in range(n_kills):
        if kill % 2:
            n_killed += kill_at(recipe, stormy, draw.randint(1, n_operations // 2))
        else:
            n_killed += kill_at(recipe, stormy, seconds=draw.uniform(0, longest))
    assert n_killed >= n_kills // 2  # those that kill themselves, at least
    assert finish(recipe, stormy)[0] == expected
    published = [json.loads(line) for line in (stormy / "published.jsonl").read_text().splitlines()]
    assert {key for key, _ in published} == {*range(n_rows)}
    lines = (stormy / "state" / "refused.jsonl").read_text().splitlines()
    reasons = {refused["message"]["key"]: refused["reason"] for refused in map(json.loads, lines)}
    assert list(reasons) == [f"refused {place}" for place in range(len(REFUSED))]
    assert "infinite" in reasons["refused 0"] and "unhashable" in reasons["refused 1"]
    return expected


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
