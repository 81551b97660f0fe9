"""Run a recipe of RECIPES.md over a file in the place of Kafka, in a process that may be killed.

    python tests/recipes.py RECIPE FOLDER [DEADLY]

The log is in FOLDER, and so is all that a run leaves. Before step number DEADLY of those that it
takes on files, the process kills itself.
"""

import functools
import json
import math
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from forests import state_of

RECIPES = Path(__file__).resolve().parents[1] / "river_amf" / "RECIPES.md"
BATCH = 20  # messages
EVERY = 50  # messages between two checkpoints, which batches do not divide
X = {"user": "a", "size": 1.0}
ODD = [  # in JSON, a message that is refused, and a part of the reason
    ({"x": X}, "with key and x, y or both"),
    ({"key": [1], "x": X}, "a key must be text"),
    ({"key": {"a": 1}, "x": X}, "a key must be text"),
    ({"key": "?", "x": X | {"size": math.inf}}, "infinite"),
    ({"key": "?", "x": X | {"color": ["b"]}}, "unhashable"),
    ({"key": "?", "x": X | {"color": "\ud800"}}, None),  # which is learned
    ({"key": "?", "y": "big"}, None),
    ({"key": "?", "x": 5}, "x must be a dict"),
    ({"key": 0, "y": None}, "label"),
    ({"key": 0, "x": X}, "wait already"),
    ({"key": "nothing", "y": "big"}, "no features"),
    *(({}, "dict"), ([1], "dict"), (None, "dict"), ("no JSON", "dict")),
]
REFUSED = [(message, reason) for message, reason in ODD if reason]
OPERATIONS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}


def code():
    text = RECIPES.read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def write_log(folder, n_rows):
    """Write a log: features, and for most of them later a label; and odd messages."""
    draw, waiting, messages = random.Random(1), [], []
    for number in range(n_rows):
        x = {"size": draw.random(), "user": draw.choice("abcde")}
        if draw.random() < 0.8:
            x["color"] = draw.choice(["red", "green", "blue"])
        messages.append({"key": number, "x": x})
        label = x["size"] + 0.3 * (x.get("color") == "red") > 0.6
        waiting.append({"key": number, "y": "big" if label else "small"})
        while draw.random() < 0.5 and len(waiting) > 20:
            messages.append(waiting.pop(1 + draw.randrange(len(waiting) - 1)))
    for place, (message, _) in enumerate(ODD):
        messages.insert(1 + 9 * place, message)
    (folder / "log.jsonl").write_text("".join(json.dumps(message) + "\n" for message in messages))


def jsonl(path):
    """Return the values of a file of JSON lines, without those that were torn."""
    values = []
    for line in path.read_text().splitlines():
        with suppress(ValueError):
            values.append(json.loads(line))
    return values


def count_steps(folder, deadly):
    """Note the steps that this process takes on files of a folder; kill it before one of them."""
    steps = []

    def step(name, last=list):
        steps.append(name)
        if len(steps) == deadly:
            last()
            os.kill(os.getpid(), signal.SIGKILL)

    def before(name, call):
        return lambda *arguments: (step(name), call(*arguments))[1]

    def audit(event, arguments):
        if event in OPERATIONS and str(folder) in str(arguments[0]):
            step(event)
            if event == "open" and arguments[2] & os.O_CREAT:  # and is there, but empty
                step("opened", functools.partial(os.open, arguments[0], arguments[2]))

    sys.addaudithook(audit)
    os.fsync = before("fsync", int)  # as only a power failure needs it

    class Changed(sqlite3.Connection):
        def execute(self, query, values=()):
            if query.startswith(("INSERT", "DELETE", "COMMIT")):
                step(query)
            return super().execute(query, values)

    sqlite3.connect = functools.partial(sqlite3.connect, factory=Changed)
    return steps


def run(recipe, folder, deadly=None):
    """Run a recipe to its end, and leave the model, the steps, and all that was published."""
    names = {}
    exec(compile(code(), str(RECIPES), "exec"), names)
    messages = jsonl(folder / "log.jsonl")

    def read(offset):
        return messages[offset : offset + BATCH]

    def publish(keys, predictions):
        pairs = zip(keys, predictions, strict=True)
        with (folder / "published.jsonl").open("a") as file:
            file.write("".join(json.dumps(pair) + "\n" for pair in pairs))

    steps = [] if deadly is None else count_steps(folder / "state", deadly)
    model = names[recipe](read, publish, folder / "state", every=EVERY)
    (folder / "steps.json").write_text(json.dumps(steps))
    (folder / "model.pickle").write_bytes(state_of(plain(model, folder)))


def plain(model, folder):
    """Return an object that shows the state of a model, wherever it is."""
    if hasattr(model, "n_workers"):
        model.save(folder / "workers.amf")
        return (folder / "workers.amf").read_bytes()
    if hasattr(model, "flush"):
        return [(key, state_of(model[key])) for key in sorted(model)]
    return model


def start(recipe, folder, deadly=0):
    """Run a recipe in a process of its own; return its status."""
    command = [sys.executable, "-W", "error", __file__, recipe, str(folder), str(deadly)]
    return subprocess.run(command, timeout=300).returncode


def model_in(folder):
    return (folder / "model.pickle").read_bytes()


def finish(recipe, folder):
    assert start(recipe, folder) == 0
    return model_in(folder)


def kill_at(recipe, folder, deadly):
    """Run a recipe up to a step on files; return whether that was before its end."""
    return start(recipe, folder, deadly) == -signal.SIGKILL


def in_fork(call, *arguments):
    """Call a function in a fork of this process; return the status of that."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            call(*arguments)
            status = 0
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
