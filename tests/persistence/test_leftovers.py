"""Saves that are cut short: the old file stays, and what is left behind goes with the next save."""

import fcntl
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest
from files import subprocess_env
from forests import STREAM, trained

import river_amf
from river_amf import AMFClassifier
from river_amf.persistence import replacement

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")

HERE, OLD, ELSEWHERE = f"{replacement._computer()}-", "", "0" * 8 + "-"


def leftover(path, computer=HERE, age=0.0):
    """Make a temporary file as a killed process leaves it."""
    result = path.with_name(f".river_amf-{computer}0123456789abcdef.tmp")
    result.write_bytes(b"PK")
    os.utime(result, (time.time() - age,) * 2)
    return result


@pytest.mark.parametrize(
    ("computer", "age", "goes"),
    [
        (HERE, 0.0, True),
        (HERE, 1e6, True),
        (ELSEWHERE, 0.0, False),
        (ELSEWHERE, 80_000.0, False),
        (ELSEWHERE, 90_000.0, True),
        (OLD, 0.0, False),  # by release 0.1, which locks nothing
        (OLD, 90_000.0, True),
    ],
)
def test_a_leftover_goes_with_the_next_save_once_nobody_can_be_writing_it(
    path, computer, age, goes
):
    left = leftover(path, computer, age)
    AMFClassifier().save(path)
    assert left.exists() != goes
    assert river_amf.load(path).seed is None


@pytest.mark.parametrize("computer", [HERE, ELSEWHERE, OLD])
def test_a_file_that_is_locked_stays(path, computer):
    left = leftover(path, computer, age=1e6)
    with open(left, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        AMFClassifier().save(path)
        assert left.exists()
    AMFClassifier().save(path)
    assert not left.exists()


def test_only_files_of_our_own_name_go(path):
    names = [
        ".river_amf-.tmp",
        ".river_amf-0123456789abcdef.tmp.bak",
        f".river_amf-{HERE}0123456789ABCDEF.tmp",
        f"river_amf-{HERE}0123456789abcdef.tmp",
        f".river_amf-{HERE}0123456789abcde.tmp",
        ".other-0123456789abcdef.tmp",
    ]
    for name in names:
        path.with_name(name).touch()
    target = path.with_name("target")
    target.write_text("precious")
    path.with_name(f".river_amf-{HERE}{'1' * 16}.tmp").symlink_to(target)
    path.with_name(f".river_amf-{HERE}{'2' * 16}.tmp").mkdir()
    os.mkfifo(path.with_name(f".river_amf-{HERE}{'3' * 16}.tmp"))
    before = sorted(path.parent.iterdir())
    AMFClassifier().save(path)
    assert sorted(path.parent.iterdir()) == sorted([*before, path])
    assert target.read_text() == "precious"


def test_leftovers_that_cannot_be_removed_are_no_error(path, monkeypatch):
    left = leftover(path)
    with monkeypatch.context() as patch:
        patch.setattr(replacement, "_remove_if_left", lambda *_, **__: os.unlink("/nowhere/at/all"))
        AMFClassifier(seed=1).save(path)
    assert left.exists() and river_amf.load(path).seed == 1
    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", lambda _: os.unlink("/nowhere/at/all"))
        AMFClassifier(seed=2).save(path)
    assert river_amf.load(path).seed == 2


def test_without_locks_files_are_saved_and_nothing_is_removed(path, monkeypatch):
    left = leftover(path)

    def flock(*_):
        raise OSError(95, "not supported")

    monkeypatch.setattr(fcntl, "flock", flock)
    AMFClassifier(seed=1).save(path)
    assert left.exists() and river_amf.load(path).seed == 1


def test_a_new_file_that_was_taken_for_a_leftover_is_made_again(path, monkeypatch):
    lock, taken = fcntl.flock, []

    def flock(file, how):
        if len(taken) < 3 and not isinstance(file, int):
            taken.append(file.name)
            replacement._own.clear()  # as seen from another process
            if len(taken) == 2:
                raise BlockingIOError
            replacement.remove_leftovers(str(path.parent))
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    AMFClassifier(seed=1).save(path)
    assert len(taken) == 3 and river_amf.load(path).seed == 1
    for name in taken:  # the second one was not removed, as nobody really had it
        replacement.remove_leftovers(os.path.dirname(name))
    assert [*path.parent.iterdir()] == [path]
    monkeypatch.setattr(fcntl, "flock", lambda *_: (_ for _ in ()).throw(BlockingIOError))
    with pytest.raises(OSError, match="removed while it was saved"):
        AMFClassifier(seed=2).save(path)
    assert river_amf.load(path).seed == 1


WRITER = """
import os, sys, time
import river_amf
from river_amf.persistence import container

pieces = container._pieces

def slow_pieces(array):
    print("writing", flush=True)
    time.sleep(60)
    yield from pieces(array)

container._pieces = slow_pieces
model = river_amf.OnlineDummyClassifier()
model.learn_one({}, "a")
model.save(sys.argv[1])
"""


@pytest.mark.slow
def test_a_writer_is_left_alone_until_it_is_killed(path):
    AMFClassifier(seed=1).save(path)
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=subprocess_env()) as process:
        assert process.stdout.readline() == b"writing\n"
        (left,) = path.parent.glob(".river_amf-*.tmp")
        os.utime(left, (0, 0))
        AMFClassifier(seed=2).save(path)
        assert left.exists()
        process.kill()
    assert left.exists()
    AMFClassifier(seed=3).save(path)
    assert [*path.parent.iterdir()] == [path]
    assert river_amf.load(path).seed == 3


SAVER = """
import sys
import river_amf

model = river_amf.AMFClassifier(n_estimators=10, seed=1)
for i in range(300):
    model.learn_one({"a": i % 17, "b": i % 5}, i % 3)
print("ready", flush=True)
while True:
    model.save(sys.argv[1])
"""


@pytest.mark.soak
def test_kills_at_random_leave_at_most_one_file_and_never_half_a_model(path):
    rng = random.Random(1)
    n_left = 0
    for _ in range(50):
        command = [sys.executable, "-c", SAVER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=subprocess_env()) as process:
            assert process.stdout.readline() == b"ready\n"
            time.sleep(rng.uniform(0.0, 0.1))
            process.kill()
        left = [*path.parent.glob(".river_amf-*.tmp")]
        assert len(left) <= 1
        n_left += len(left)
        if path.exists():
            assert river_amf.load(path).n_estimators == 10
    assert n_left > 0
    AMFClassifier().save(path)
    assert [*path.parent.iterdir()] == [path]


def test_threads_that_save_to_one_folder_do_not_disturb_each_other(path):
    model, errors = trained(STREAM[:100], n_estimators=2), []

    def save(name):
        try:
            for _ in range(20):
                model.save(path.with_name(name))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=save, args=(f"{i % 3}.amf",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["0.amf", "1.amf", "2.amf"]


def interrupted_save(model, path, number):
    """Save with an interrupt before the given line of the package; return whether it came."""
    left = number

    def trace(frame, event, _):
        nonlocal left
        if "persistence" not in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        model.save(path)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


# an interrupt between `open` and `with` leaves it to Python to close the file
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("exists", [True, False])
def test_an_interrupt_before_any_line_leaves_the_old_file_or_the_new_one(path, step, exists):
    new, old = AMFClassifier(n_estimators=1, seed=2), AMFClassifier(n_estimators=1, seed=1)
    new.learn_one({"a": 1.0, "b": "x"}, "y")
    number, seeds = 1, []
    while True:
        path.unlink(missing_ok=True)
        if exists:
            old.save(path)
        came = interrupted_save(new, path, number)
        there = path.exists()
        assert [*path.parent.iterdir()] == [path] * there, number
        seeds.append(river_amf.load(path).seed if there else None)
        if not came:
            break
        number += step
    assert number > 200
    assert seeds[0] == (1 if exists else None) and seeds[-1] == 2
    assert seeds == sorted(seeds, key=lambda seed: seed or 0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_time_leaves_no_leftover(path):
    model, rng = trained(STREAM[:300]), random.Random(2)
    AMFClassifier(seed=1).save(path)
    n_interrupts = 0

    def interrupt(*_):
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(100):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 0.02))
                model.save(path)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                n_interrupts += 1
            assert [*path.parent.iterdir()] == [path]
            river_amf.load(path)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert n_interrupts > 0
