"""Models move to the folder and return; a crash or an error leaves those of the last flush."""

import copy
import itertools
import multiprocessing
import os
import pickle
import random
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest
from naive_keyed import NaiveKeyed, states_of
from river import compose, linear_model, naive_bayes

from river_amf import AMFClassifier
from river_amf.keyed import KeyedClassifier, store
from river_amf.keyed.keys import key_of
from river_amf.persistence import FileError

LOGISTIC = linear_model.LogisticRegression()


def sample(user, i=0):
    return {"user": user, "a": (i * 0.618) % 1, "b": float(i % 3)}


def learn(model, users, n=3):
    for i in range(n):
        for user in users:
            model.learn_one(sample(user, i), i % 2 == 0)


def kept(model):
    """Return the keys in memory, from the least recently used on."""
    return [key_of(text) for text in model._store.models]


def test_least_recently_used_models_move():
    model = KeyedClassifier(LOGISTIC, "user", max_in_memory=2)
    learn(model, "abc", n=1)
    assert kept(model) == ["b", "c"]
    model.predict_one(sample("b"))
    learn(model, "d", n=1)
    model.predict_one(sample("new"))
    assert "a" in model and kept(model) == ["b", "d"]
    model["a"]
    assert kept(model) == ["d", "a"]


def opened(folder, model=LOGISTIC, **options):
    return KeyedClassifier(model, "user", folder=folder, **options)


def test_with_statement_flushes(tmp_path):
    with opened(tmp_path) as model:
        learn(model, "ab")
        model.flush(position=[1, "b"])
        del model["a"]
        for wrong in ({1, 2}, float("nan")):
            with pytest.raises((TypeError, ValueError), match="JSON"):
                model.flush(position=wrong)
    with pytest.raises(ZeroDivisionError), opened(tmp_path) as model:
        assert {*model} == {"b"} and model.position == [1, "b"]
        learn(model, "c")
        raise ZeroDivisionError
    with opened(tmp_path) as model:
        assert {*model} == {"b"}
        model.close()
        with pytest.raises(OSError, match="released by close"):
            model.flush()


def test_folder_belongs_to_one_object(tmp_path):
    model = opened(tmp_path)
    learn(model, "a")
    model.flush()
    assert model.clone().folder is None
    for make in (copy.copy, copy.deepcopy, lambda _: opened(tmp_path)):
        with pytest.raises(OSError, match="is in use by another model"):
            make(model)
    model.close()
    with pickle.loads(pickle.dumps(model)) as later:
        assert {*later} == {"a"}
    with pytest.raises(ValueError, match=r"'user', not .* 'shop'"):
        KeyedClassifier(LOGISTIC, "shop", folder=tmp_path)


def change(path, query):
    with sqlite3.connect(path) as database:
        database.execute(query)
    database.close()


@pytest.mark.parametrize(
    ("spoil", "kind", "message"),
    [
        (lambda path: path.write_bytes(b"my diary " * 99), FileError, "or holds something else"),
        (partial(change, query="CREATE TABLE a (b)"), FileError, "or that of another release"),
        (lambda path: path.mkdir(), OSError, r"models\.sqlite: unable to open"),
    ],
)
def test_other_files_are_refused_and_left(tmp_path, spoil, kind, message):
    path = tmp_path / "folder" / "models.sqlite"
    path.parent.mkdir()
    spoil(path)
    before = path.is_file() and path.read_bytes()
    with pytest.raises(kind, match=message):
        opened(path.parent)
    assert (path.is_file() and path.read_bytes()) == before


@pytest.mark.parametrize("blob", ["'text'", "substr(model, 1, 100)"])
def test_model_that_cannot_be_read(tmp_path, blob):
    with opened(tmp_path) as model:
        learn(model, "ab")
    edit = f"UPDATE models SET model = {blob} WHERE key = '\"a\"'"
    change(tmp_path / "models.sqlite", edit)
    with opened(tmp_path) as model:
        with pytest.raises(FileError, match=r"models\.sqlite: the model of the key \"a\" can"):
            model["a"]
        learn(model, "b")  # the others can be used


@pytest.mark.parametrize(
    "edit",
    [
        *(f"notes SET value = '{note}' WHERE name = 'flush'" for note in ("[", "[1]", '{"a": 1}')),
        """notes SET value = '{"number": 1e9, "learned": 6, "position": 0}' WHERE name = 'flush'""",
        *(f"models SET key = '{key}'" for key in ("{", '{"a": 1}', '{"uuid": 1}', "1.5")),
        *(f"models SET learned = {learned}" for learned in ("-1", "'x'", 2**63 - 1)),
    ],
)
def test_edited_rows_are_refused(tmp_path, edit):
    with opened(tmp_path) as model:
        learn(model, "ab")
    change(tmp_path / "models.sqlite", f"UPDATE {edit}")
    with pytest.raises(FileError, match=r"models\.sqlite is damaged"), opened(tmp_path) as model:
        learn(model, "c")
        model.remove_unused(1)


def test_unused_keys_among_many_are_removed(tmp_path, monkeypatch):
    with opened(tmp_path, max_in_memory=2) as model:
        for user in range(1100):
            model.learn_one(sample(user), True)
        monkeypatch.setattr(store, "BATCH_BYTES", 1000)  # transactions of a few removals
        assert {*model.remove_unused(7)} == {*range(1093)}
    with opened(tmp_path) as model:
        assert {*model} == {*range(1093, 1100)}


def test_forests_are_stored_as_files(tmp_path):
    forest = AMFClassifier(1, seed=1)
    with opened(tmp_path, forest, allow_pickle=False) as model:
        learn(model, "ab")
        before = states_of(model)
    with opened(tmp_path, forest, allow_pickle=False) as model:
        assert states_of(model) == before
        model.learn_one(sample("a"), 1j)  # which a file cannot hold
        with pytest.raises(TypeError, match=r"key 'a' .* label 1j .* allow_pickle=False"):
            model.flush()
        model.close()
    with opened(tmp_path, forest) as model:
        model.learn_one(sample("a"), 1j)
        assert {packed[:2] for *_, packed in model._store.call("packed")} == {b"\x80\x05", b"PK"}
        before = states_of(model)
    with opened(tmp_path, forest) as model:
        assert states_of(model) == before
    with opened(tmp_path, forest, allow_pickle=False) as model:
        model["b"]
        with pytest.raises(FileError, match='of the key "a" cannot be read: it is a pickle'):
            model["a"]
    with pytest.raises(TypeError, match=r"cannot save a LogisticRegression.* allow_pickle=False"):
        opened(tmp_path, allow_pickle=False)


def test_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)  # root may do anything
    with pytest.raises(OSError, match=r"models\.sqlite can only be read; .* such as a copy"):
        opened(tmp_path)


def wide(user):
    """Return a sample whose model needs pages of its own."""
    return {"user": user, **{f"feature {j} of {user}": j for j in range(100)}}


CALLS = {
    "flush": KeyedClassifier.flush,
    "learn_one": lambda model: model.learn_one(wide("d"), True),
    "learn_many": lambda model: model.learn_many(pd.DataFrame([wide("d"), wide("e")]), [True] * 2),
    "predict_one": lambda model: model.predict_one(wide("a")),
}


@pytest.mark.parametrize("call", CALLS)
def test_full_disk_leaves_the_last_flush(tmp_path, call):
    model = opened(tmp_path, naive_bayes.GaussianNB(), max_in_memory=2)
    for user in "abc":
        model.learn_one(wide(user), True)
    model.flush(position=3)
    flushed = states_of(model)
    for user in "bc":
        model.learn_one(wide(user), False)
        model.learn_one(wide(user + " 2"), False)  # which has moved some to the file
    database = model._store._database
    ((n_pages,),) = database.execute("PRAGMA page_count")
    database.execute(f"PRAGMA max_page_count = {n_pages}")  # in the place of a full disk
    with pytest.raises(OSError, match="full; it holds the models of the last flush"):
        for _ in range(2):
            CALLS[call](model)
    for other in CALLS.values():
        with pytest.raises(OSError, match="full; it holds the models of the last flush"):
            other(model)
    with opened(tmp_path, naive_bayes.GaussianNB()) as later:  # the other has released it
        assert later.position == 3 and states_of(later) == flushed


@pytest.mark.parametrize(
    ("model", "max_in_memory"),
    [*((LOGISTIC, n) for n in (1, 2, None)), (AMFClassifier(1, seed=1), 2)],
)
def test_flush_has_the_models_of_its_start(tmp_path, monkeypatch, model, max_in_memory):
    monkeypatch.setattr(store, "BATCH_BYTES", 1000)  # many rows are committed before a flush
    draw, kinds = random.Random(1), [*"lsp", "start", "delete", "remove_unused", "crash"]
    calls = draw.choices(kinds, [9, 4, 2, 2, 2, 1, 1], k=400)
    keys = draw.choices("abcdef", k=400)
    naive, steps = NaiveKeyed(model.clone), iter(())
    keyed = opened(tmp_path, model, max_in_memory=max_in_memory)
    at_start = {None: copy.deepcopy(naive)}
    for i, (call, key) in enumerate(zip(calls, keys, strict=True)):
        x = sample(key, i)
        if call == "l":
            for learner in (keyed, naive):
                learner.learn_one(x, i % 3 == 0)
        elif call == "p":
            assert keyed.predict_proba_one(x) == naive.answer("predict_proba_one", x)
        elif call == "delete" and key in keyed:
            del keyed[key], naive.models[key]
        elif call == "remove_unused":
            assert {*keyed.remove_unused(9)} == naive.remove_unused(9)
        elif call == "start":  # which leaves an earlier flush as an interrupt does
            steps, at_start[i] = keyed._store.flushing(i), copy.deepcopy(naive)
            keyed._store.call("advance", steps, 0)
        elif call == "s":
            is_running = keyed._store.call("advance", steps, 0)
            assert is_running or keyed.position == [*at_start][-1]
        elif call == "crash":  # which may be in the middle of a flush
            assert states_of(keyed) == states_of(naive.models)
            position, steps = keyed.position, iter(())
            keyed.close()
            keyed = opened(tmp_path, model, max_in_memory=max_in_memory)
            assert keyed.position == position
            naive = copy.deepcopy(at_start[position])
            at_start = {position: copy.deepcopy(naive)}
            assert states_of(keyed) == states_of(naive.models)
        assert max_in_memory is None or len(kept(keyed)) <= max_in_memory
    assert {*keyed.remove_unused(2)} == naive.remove_unused(2)


def n_rows(model):
    return model._store._database.execute("SELECT count(*) FROM models").fetchone()[0]


def test_removed_models_leave_no_rows(tmp_path):
    for folder in (None, tmp_path):
        model = KeyedClassifier(LOGISTIC, "user", folder=folder, max_in_memory=1)
        learn(model, "abcd")
        for key in "abc":
            del model[key]
        # those in a folder may come back by a crash
        assert n_rows(model) > 3 if folder else n_rows(model) <= 1
    steps = model._store.flushing(1)
    model._store.call("advance", steps, 0)
    del model["d"]
    assert not model._store.call("advance", steps, 60) and n_rows(model) == 2
    model.flush()
    assert n_rows(model) == 0
    learn(model, "ab")
    model.flush()
    del model["a"], model["b"]
    model._store.call("advance", model._store.flushing(2), 0)  # it commits; then a crash
    assert n_rows(model) > 1
    model.close()
    assert n_rows(opened(tmp_path)) == 0


def test_transactions_hold_many_rows(monkeypatch):
    monkeypatch.setattr(store, "BATCH_BYTES", 20_000)
    model, queries = KeyedClassifier(LOGISTIC, "user", max_in_memory=1), []
    model._store._database.set_trace_callback(queries.append)
    learn(model, range(100), n=1)
    assert 1 < queries.count("COMMIT") < 30


class Interrupted(sqlite3.Connection):
    """A connection that is interrupted after a removal."""

    def execute(self, query, values=()):
        rows = super().execute(query, values)
        if query.startswith("INSERT INTO models") and values[-1] is None:
            raise KeyboardInterrupt
        return rows


def test_interrupted_removal_leaves_the_model(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Interrupted))
    model = opened(tmp_path, max_in_memory=1)
    learn(model, "a")
    model.flush()
    with pytest.raises(KeyboardInterrupt):
        del model["a"]
    learn(model, "b")  # which moves the model of a to the file
    assert {*model} == {*"ab"}


def test_flush_with_a_model_that_cannot_be_stored(tmp_path):
    forest = AMFClassifier(1, seed=1)
    model = opened(tmp_path, forest, allow_pickle=False)
    learn(model, "ab")
    model.flush(position=1)
    flushed = states_of(model)
    learn(model, "b")
    model.learn_one(sample("a"), 1j)  # which a file cannot hold
    learn(model, "c")
    steps = model._store.flushing(2)
    assert model._store.call("advance", steps, 0)
    learn(model, "a")  # the flush fails, not this
    with pytest.raises(TypeError, match=r"key 'a' .* label 1j"):
        model._store.call("advance", steps, 1)
    assert model.position == 1
    del model["a"]
    model.flush(position=3)
    model.close()
    with opened(tmp_path, forest) as later:
        assert later.position == 3 and {*later} == {*"bc"} and flushed["b"] != states_of(later)["b"]


def learn_row(model, i):
    model.learn_one(sample(f"user {i * 7 % 5}", i), i % 3 == 0)


def learn_forever(folder, flushed):
    """Learn the rows of an endless stream from the position of the last flush on."""
    model = opened(folder, max_in_memory=2)
    for i in itertools.count(model.position or 0):
        if i % 25 == 0:
            model.flush(position=i)
            flushed.value = i
        learn_row(model, i)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork, of POSIX")
def test_kill_leaves_the_last_flush(tmp_path, n_kills=5):
    processes, rng = multiprocessing.get_context("fork"), np.random.default_rng(1)
    flushed, twin = processes.Value("q", 0, lock=False), KeyedClassifier(LOGISTIC, "user")
    position = 0
    for _ in range(n_kills):
        child = processes.Process(target=learn_forever, args=(tmp_path, flushed))
        child.start()
        while flushed.value < position + 100 and child.is_alive():
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.02))
        child.kill()
        child.join()
        model = opened(tmp_path)
        start, position = position, model.position
        assert position in (flushed.value, flushed.value + 25) and position >= start + 100
        for i in range(start, position):
            learn_row(twin, i)
        assert states_of(model) == states_of(twin)
        model.close()


def test_model_that_cannot_be_pickled_stays():
    def new():
        return compose.FuncTransformer(lambda x: x) | linear_model.LogisticRegression()

    model = KeyedClassifier(new, "user", max_in_memory=1)
    learn(model, "a")
    with pytest.raises(TypeError, match="model of the key 'a' cannot be stored"):
        learn(model, "b")
    assert {*model} == {"a"}
    learn(model, "a")


def test_threads_may_share_it(tmp_path):
    model, twin = opened(tmp_path, max_in_memory=2), KeyedClassifier(LOGISTIC, "user")
    with ThreadPoolExecutor(6) as threads:
        learned = [threads.submit(learn, model, user, 100) for user in "abcd"]
        flushed = [threads.submit(model.flush, position) for position in range(20)]
        assert [task.result() for task in learned + flushed] == [None] * 24
    learn(twin, "abcd", n=100)
    model.flush()
    model.close()
    with opened(tmp_path) as later:
        assert states_of(later) == states_of(twin)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork, of POSIX")
def test_forked_process_leaves_the_folder_alone(tmp_path):
    model = opened(tmp_path, max_in_memory=1)
    learn(model, "ab")
    model.flush()
    child = os.fork()
    if child == 0:
        with pytest.raises(OSError, match="forked from"):
            model.predict_one(sample("a"))
        model.close()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    learn(model, "ab")
    model.flush()
