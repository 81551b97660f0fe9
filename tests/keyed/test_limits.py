"""Models move to the folder and come back; whatever goes wrong there, none is lost."""

import copy
import gc
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from river import base, compose, linear_model, naive_bayes, preprocessing

from river_amf import AMFClassifier
from river_amf.keyed import KeyedClassifier, KeyedRegressor
from river_amf.keyed.store import Packed, Store
from river_amf.persistence import FileError

LOGISTIC = linear_model.LogisticRegression()


def sample(user, i=0):
    return {"user": user, "a": (i * 0.618) % 1, "b": float(i % 3)}


def learn(model, users, n=3):
    for i in range(n):
        for user in users:
            model.learn_one(sample(user, i), i % 2 == 0)


def pickles(model):
    return {key: pickle.dumps(model[key]) for key in model}


def kept(model):
    """Return the keys in memory, from the least recently used on."""
    return [text[2:] for text in model._pool._slots]


def test_the_least_recently_used_models_go():
    model = KeyedClassifier(LOGISTIC, "user", max_models=2)
    learn(model, "abc", n=1)
    assert kept(model) == ["b", "c"]
    model.predict_one(sample("b"))
    learn(model, "d", n=1)
    assert kept(model) == ["b", "d"]
    model.predict_one(sample("nobody"))
    assert kept(model) == ["b", "d"]
    assert "a" in model and kept(model) == ["b", "d"]
    model["a"]
    assert kept(model) == ["d", "a"]


@pytest.mark.slow
@pytest.mark.parametrize("factory", [LOGISTIC, AMFClassifier(n_estimators=2, seed=1)])
def test_two_thousand_keys_with_twenty_in_memory_equal_those_that_stay(factory):
    n_keys = 2000 if factory is LOGISTIC else 200
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(5 * n_keys, 3)), columns=[*"abc"])
    X["user"] = rng.integers(n_keys, size=len(X))
    y = (X["a"] > 0).tolist()
    few, all_ = (KeyedClassifier(factory, "user", max_models=m) for m in (n_keys // 100, None))
    for start in range(0, len(X), n_keys):
        rows = slice(start, start + n_keys)
        for model in (few, all_):
            model.learn_many(X[rows], y[rows])
        assert few.n_in_memory <= n_keys // 100
    assert few.predict_many(X).tolist() == all_.predict_many(X).tolist()
    assert pickles(few) == pickles(all_)


def test_bytes_are_bounded():
    model = KeyedClassifier(AMFClassifier(n_estimators=3, seed=1), "user")
    learn(model, "abcdef", n=100)
    size = model.memory_usage
    assert size > 6 * 30_000
    model.max_bytes = size // 2
    learn(model, "abcdef", n=10)
    assert model.n_in_memory < 6 and model.memory_usage <= 1.25 * (size // 2)
    model.max_bytes = 1
    learn(model, "ab", n=2)
    assert model.n_in_memory == 1 and len(model) == 6
    twin = KeyedClassifier(AMFClassifier(n_estimators=3, seed=1), "user")
    learn(twin, "abcdef", n=100)
    learn(twin, "abcdef", n=10)
    learn(twin, "ab", n=2)
    assert pickles(model) == pickles(twin)


def test_models_that_grow_are_measured_again():
    model = KeyedClassifier(AMFClassifier(n_estimators=3, seed=1), "user", max_bytes=600_000)
    learn(model, "abc", n=1)
    assert model.n_in_memory == 3
    for user in "abc":
        learn(model, user, n=1000)
    assert model.n_in_memory < 3
    assert model.memory_usage < 1.25 * 600_000


class Counting(base.Classifier):
    """Counts how often it was pickled."""

    n_pickled = 0

    def __getstate__(self):
        Counting.n_pickled += 1
        return {"n_learned": self.__dict__.get("n_learned", 0)}

    def learn_one(self, x, y):
        self.n_learned = self.__dict__.get("n_learned", 0) + 1

    def predict_one(self, x):
        return self.__dict__.get("n_learned", 0)


def test_a_model_that_was_only_asked_is_not_written_again():
    model = KeyedClassifier(Counting(), "user", max_models=1)
    learn(model, "ab", n=1)
    Counting.n_pickled = 0
    for user in "ababab":
        model.predict_one(sample(user))
    assert Counting.n_pickled == 1  # b, which had not been written before
    model["a"].n_learned = 17
    assert model.predict_one(sample("b")) == 1
    assert model.predict_one(sample("a")) == 17


def test_a_pipeline_that_learns_while_it_predicts_is_written():
    model = KeyedClassifier(preprocessing.StandardScaler() | LOGISTIC.clone(), "user", max_models=1)
    with compose.learn_during_predict():
        model.predict_one(sample("new"))
        learn(model, "ab", n=1)
        for user in "abab":
            model.predict_one(sample(user))
    assert "new" not in model
    assert model["a"]["StandardScaler"].counts["a"] == 2


# ------------------------------------------------------------------------------------------ folder


@pytest.mark.slow
def test_a_process_goes_on_with_the_folder(tmp_path):
    code = """
import sys
from river import linear_model
from river_amf import AMFClassifier
from river_amf.keyed import KeyedClassifier
forest = AMFClassifier(n_estimators=2, seed=1)
model = KeyedClassifier(forest, "user", folder=sys.argv[1], max_models=2)
start = model.position or 0
for i in range(start, start + 40):
    model.learn_one({"user": i % 5, "a": i % 7}, i % 3 == 0)
    if i % 10 == 9:
        model.flush(position=i + 1)
for i in range(40):  # never flushed, though most of it moves to the folder
    model.learn_one({"user": i % 6, "a": i % 7}, i % 3 == 1)
import os, signal
os.kill(os.getpid(), signal.SIGKILL)
"""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
        assert done.returncode == -signal.SIGKILL
    factory = AMFClassifier(n_estimators=2, seed=1)
    model = KeyedClassifier(factory, "user", folder=tmp_path)
    assert model.position == 80
    twin = KeyedClassifier(factory, "user")
    for i in range(80):
        twin.learn_one({"user": i % 5, "a": i % 7}, i % 3 == 0)
    assert pickles(model) == pickles(twin)


def test_with_writes_at_its_end_unless_there_is_an_error(tmp_path):
    with KeyedClassifier(LOGISTIC, "user", folder=tmp_path) as model:
        learn(model, "a")
        model.flush(position=[1, "b"])
        learn(model, "b")
    with (
        pytest.raises(ZeroDivisionError),
        KeyedClassifier(LOGISTIC, "user", folder=tmp_path) as model,
    ):
        assert {*model} == {"a", "b"} and model.position == [1, "b"]
        learn(model, "c")
        raise ZeroDivisionError
    with KeyedClassifier(LOGISTIC, "user", folder=tmp_path) as model:
        assert {*model} == {"a", "b"}
        del model["a"]
    with KeyedClassifier(LOGISTIC, "user", folder=tmp_path) as model:
        assert {*model} == {"b"}
        model.close()
        with pytest.raises(ValueError, match="released by close"):
            model.flush()


def test_a_folder_belongs_to_one_object(tmp_path):
    model = KeyedClassifier(LOGISTIC, "user", folder=tmp_path)
    with pytest.raises(OSError, match="is in use by another model"):
        KeyedClassifier(LOGISTIC, "user", folder=tmp_path)
    learn(model, "a")
    model.flush()
    for copied in (model.clone(), copy.copy(model), copy.deepcopy(model)):
        assert copied.folder is None
    model.close()
    for wrong, message in (
        (lambda: KeyedClassifier(LOGISTIC, "shop", folder=tmp_path), "key is 'user', not 'shop'"),
        (lambda: KeyedRegressor(linear_model.LinearRegression(), "user", folder=tmp_path),
         "kind is 'KeyedClassifier', not 'KeyedRegressor'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            wrong()
    assert {*KeyedClassifier(LOGISTIC, "user", folder=tmp_path)} == {"a"}


def test_files_of_others_are_left_alone(tmp_path):
    path = tmp_path / "models.sqlite"
    path.write_bytes(b"my diary " * 100)
    with pytest.raises(FileError, match="does not hold the models of keys"):
        KeyedClassifier(LOGISTIC, "user", folder=tmp_path)
    assert path.read_bytes() == b"my diary " * 100
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE diary (day)")
    other.close()
    with pytest.raises(FileError, match="it is another database"):
        KeyedClassifier(LOGISTIC, "user", folder=tmp_path)
    path.unlink()
    KeyedClassifier(LOGISTIC, "user", folder=tmp_path).close()
    with sqlite3.connect(path) as later:
        later.execute("PRAGMA user_version = 99")
    later.close()
    with pytest.raises(FileError, match=r"of a later release of river_amf \(format 99\)"):
        KeyedClassifier(LOGISTIC, "user", folder=tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        KeyedClassifier(LOGISTIC, "user", folder=tmp_path / "file" / "models")


def temporary_files():
    """Return the open files of SQLite that have no name any more."""
    folder = Path("/proc/self/fd")
    links = [os.readlink(path) for path in folder.iterdir() if path.is_symlink()]
    return {link for link in links if "etilqs_" in link and link.endswith("(deleted)")}


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_temporary_file_has_no_name_and_goes_with_its_object():
    gc.collect()
    before = temporary_files()
    store = Store(None, {})
    for i in range(20):  # too much for the cache
        store.put(Packed(f"s:{i}", "pickle", bytes([i]) * 500_000))
    assert len(temporary_files() - before) == 1  # a process that is killed leaves nothing
    assert [packed.data[0] for packed in store.all()] == [*range(20)]
    del store
    gc.collect()
    assert temporary_files() == before


def test_copies_have_files_of_their_own():
    model = KeyedClassifier(LOGISTIC, "user", max_models=1)
    learn(model, "a")
    learn(model, "b")
    model.flush(position=3)
    assert model.position == 3
    twin = pickle.loads(pickle.dumps(model))
    learn(twin, "c")
    assert {*twin} == {"a", "b", "c"} and {*model} == {"a", "b"}
    model.close()
    learn(twin, "a")


# -------------------------------------------------------------------------------------- bad moments


def fill_disk(model, n_pages=None):
    """Let the database have no more pages than it has, or so many."""
    database = model._pool.store._opened()
    (n_used,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count = {n_pages or n_used}")


def wide(user):
    """Return a sample whose model needs pages of its own."""
    return {"user": user, **{f"feature {j} of {user}": j for j in range(100)}}


def test_a_full_disk_loses_nothing():
    model = KeyedClassifier(naive_bayes.GaussianNB(), "user", max_models=2)
    for user in "abc":
        model.learn_one(wide(user), True)
    before = {text: pickle.dumps(slot.model) for text, slot in model._pool._slots.items()}
    fill_disk(model)
    for call in (
        lambda: model.learn_one(wide("d"), True),
        lambda: model.learn_many(pd.DataFrame([wide("d"), wide("e")]).fillna(0), [True, False]),
        lambda: model.predict_one(wide("a")),
    ):
        with pytest.raises(OSError, match="full"):
            call()
        kept = {text: pickle.dumps(slot.model) for text, slot in model._pool._slots.items()}
        assert kept == before and {*model} == {"a", "b", "c"}
    fill_disk(model, 10**6)
    model.learn_one(wide("d"), True)
    assert {*model} == {"a", "b", "c", "d"}
    twin = KeyedClassifier(naive_bayes.GaussianNB(), "user")
    for user in "abcd":
        twin.learn_one(wide(user), True)
    for user in "abcd":
        assert model[user].predict_proba_one(wide(user)) == twin[user].predict_proba_one(wide(user))


def test_a_flush_that_fails_leaves_the_last_one(tmp_path):
    model = KeyedClassifier(naive_bayes.GaussianNB(), "user", folder=tmp_path, max_models=3)
    learn(model, "ab")
    model.flush(position=1)
    before = pickles(model)
    for i in range(9):
        model.learn_one({"user": "a", **{f"feature {j}": i * j for j in range(100)}}, i % 2 == 0)
    later = pickles(model)
    fill_disk(model)
    with pytest.raises(OSError, match="full"):
        model.flush(position=2)
    assert model.position == 1
    assert pickles(model) == later
    with pytest.raises(TypeError, match="JSON"):
        model.flush(position={1, 2})
    model.close()
    model = KeyedClassifier(naive_bayes.GaussianNB(), "user", folder=tmp_path)
    assert model.position == 1 and pickles(model) == before


def test_a_model_that_cannot_be_pickled_stays(tmp_path):
    def factory():
        return compose.FuncTransformer(lambda x: x) | linear_model.LogisticRegression()

    model = KeyedClassifier(factory, "user", max_models=1)
    learn(model, "a")
    with pytest.raises(TypeError, match="model of the key 'a' cannot be moved out of memory"):
        learn(model, "b")
    assert {*model} == {"a"}
    learn(model, "a")
    model.max_models = 2
    learn(model, "b")
    assert {*model} == {"a", "b"}


def test_a_file_that_is_damaged_is_an_error_that_names_it(tmp_path):
    with KeyedClassifier(AMFClassifier(), "user", folder=tmp_path) as model:
        learn(model, "a")
    with sqlite3.connect(tmp_path / "models.sqlite") as database:
        database.execute("UPDATE flushed SET model = substr(model, 1, 100)")
    database.close()
    model = KeyedClassifier(AMFClassifier(), "user", folder=tmp_path)
    with pytest.raises(ValueError, match="model of the key 'a' cannot be read back: the BytesIO"):
        model.predict_one(sample("a"))


def test_labels_that_files_cannot_hold_are_pickled():
    model = KeyedClassifier(AMFClassifier(seed=1), "user", max_models=1)
    model.learn_one(sample("a"), frozenset({1}))
    model.learn_one(sample("b"), frozenset({2}))
    assert model.predict_one(sample("a")) == frozenset({1})


def test_threads_may_share_it():
    model = KeyedClassifier(LOGISTIC, "user", max_models=2)
    errors = []

    def work(user):
        try:
            learn(model, user, n=100)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(user,)) for user in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    twin = KeyedClassifier(LOGISTIC, "user")
    learn(twin, "abcd", n=100)
    assert errors == [] and pickles(model) == pickles(twin)


class Interrupt(Exception):
    """What a signal handler raises."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on Windows")
def test_interrupts_lose_no_model():
    model = KeyedClassifier(Counting(), "user", max_models=2)
    n_called = dict.fromkeys("abcd", 0)
    n_interrupts = 0

    def interrupt(*_):
        raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for i in range(1500):
            user = "abcd"[i * i % 7 % 4]
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + 1e-6 * (i % 100))
                model.learn_one(sample(user, i), True)
                n_called[user] += 1
            except Interrupt:
                n_interrupts += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert n_interrupts > 50
    found = {user: model[user].n_learned for user in model}
    # a call that was interrupted may have learned its sample
    assert all(n <= found[user] <= n + n_interrupts for user, n in n_called.items() if n)
    assert sum(found.values()) <= 1500
    assert model._pool._total() == sum(slot.n_bytes for slot in model._pool._slots.values())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on Windows")
def test_a_forked_process_leaves_the_folder_alone(tmp_path):
    model = KeyedClassifier(LOGISTIC, "user", folder=tmp_path, max_models=1)
    learn(model, "ab")
    model.flush()
    child = os.fork()
    if child == 0:
        try:
            model.predict_one(sample("a"))
        except RuntimeError as error:
            (tmp_path / "said").write_text(str(error))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert "was forked" in (tmp_path / "said").read_text()
    assert model.predict_one(sample("a")) is not None
    with pytest.raises(OSError, match="is in use"):
        Store(str(tmp_path), {})


def test_the_file_does_not_grow_with_what_is_replaced(tmp_path):
    model = KeyedClassifier(LOGISTIC, "user", folder=tmp_path, max_models=5)
    users = [f"user {i}" for i in range(50)]
    sizes = []
    for _ in range(6):
        learn(model, users)
        model.flush()
        sizes.append(Path(tmp_path, "models.sqlite").stat().st_size)
    assert sizes[-1] <= 1.1 * sizes[2]
