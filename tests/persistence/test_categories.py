"""Files of forests with a bound on the categories of a feature."""

import pytest
from files import error_of, parts_in
from forests import learn, visits

import river_amf
from river_amf import AMFClassifier
from river_amf.persistence import container


def forest(**parameters):
    return AMFClassifier(**{"n_estimators": 3, "seed": 1, "max_categories": 5} | parameters)


def test_a_file_with_more_categories_than_the_bound_keeps_the_newest(path):
    model = learn(forest(max_categories=None), visits(100))
    header, arrays = parts_in(model, path)
    header["model"]["parameters"]["max_categories"] = 7  # as older files, it has no counts
    del arrays["uses"]
    container.write(str(path), header, arrays)
    loaded = river_amf.load(path)
    codes = loaded._features.categories("session")
    known = model._features.categories("session")
    assert [*codes.items()] == [*known.items()][-7:]
    for session in codes:
        x = {"session": session}
        assert loaded.predict_proba_one(x) == model.predict_proba_one(x)
    learn(loaded, visits(100, seed=4))
    assert len(loaded._features.categories("session")) <= 7


@pytest.mark.parametrize(
    "damage",
    [
        lambda item: item.__setitem__(2, item[2][:-1]),
        lambda item: item.__setitem__(2, [item[2][0]] * len(item[2])),
        lambda item: item.__setitem__(2, [item[2][0] - 6000, *item[2][1:]]),
        lambda item: item.__setitem__(2, [item[2][0] + 0.5, *item[2][1:]]),
        lambda item: item.__setitem__(3, 0),
        lambda item: item.__setitem__(3, 2**60),
        lambda item: item.__setitem__(3, "1"),
        lambda item: item.pop(),
    ],
    ids=["short", "equal", "negative", "half", "old epoch", "large epoch", "text", "no epoch"],
)
def test_a_file_with_wrong_codes_is_refused(path, damage):
    header, arrays = parts_in(learn(forest(), visits(100)), path)
    (item,) = (item for item in header["model"]["features"] if item[0] == "session")
    damage(item)
    container.write(str(path), header, arrays)
    assert "categories cannot be right" in error_of(path) or "names and categories" in error_of(
        path
    )


def test_a_file_that_holds_more_than_its_bytes_is_cut(path):
    model = learn(forest(max_bytes=10**6), visits(300))
    header, arrays = parts_in(model, path)
    header["model"]["parameters"]["max_bytes"] = 100_000
    container.write(str(path), header, arrays)
    loaded = river_amf.load(path)
    assert loaded.memory_usage <= 100_000
    assert sum(loaded.predict_proba_one({"size": 0.5}).values()) == pytest.approx(1.0)
    for x, y, w in visits(50, seed=5):
        loaded.learn_one(x, y, w)
        assert loaded.memory_usage <= 100_000
