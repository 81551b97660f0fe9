"""Streams made by hypothesis: mixed features that come and go, missing values, new labels."""

from typing import Any

from hypothesis import strategies as st

Sample = tuple[dict[Any, Any], str, float]

NUMBERS = st.one_of(
    st.integers(0, 3),  # ties and coinciding samples
    st.floats(-10, 10),
    st.booleans(),
)
CATEGORIES = st.sampled_from(["red", "green", "blue", ("a", "tuple"), "late"])
MISSING = st.sampled_from([None, float("nan")])


def _samples(labels: str, weights: st.SearchStrategy[float]) -> st.SearchStrategy[Sample]:
    features = st.fixed_dictionaries(
        {"a": st.one_of(NUMBERS, NUMBERS, MISSING)},
        optional={
            "b": NUMBERS,
            7: st.one_of(NUMBERS, MISSING),
            "color": st.one_of(CATEGORIES, CATEGORIES, MISSING),
        },
    )
    # now and then a sample without any feature
    features = st.one_of(*[features] * 9, st.just({}))
    return st.tuples(features, st.sampled_from(labels), weights)


@st.composite
def streams(draw: st.DrawFn, max_size: int = 30, weighted: bool = True) -> list[Sample]:
    """Draw a stream in two parts: in the second, labels and features may be new or gone."""
    weights = st.sampled_from([1.0, 1.0, 1.0, 0.5, 2.0]) if weighted else st.just(1.0)
    first = draw(st.lists(_samples("xy", weights), min_size=1, max_size=max_size // 2))
    second = draw(st.lists(_samples("xyz", weights), max_size=max_size // 2))
    gone = draw(st.sampled_from(["a", "b", "color", None]))
    late = draw(st.sampled_from(["b", 7, "color", None]))
    first = [({k: v for k, v in x.items() if k != late}, y, w) for x, y, w in first]
    second = [({k: v for k, v in x.items() if k != gone}, y, w) for x, y, w in second]
    return first + second


PARAMETERS = st.fixed_dictionaries(
    {},
    optional={
        "split_pure": st.booleans(),
        "max_nodes": st.sampled_from([1, 2, 3, 7, 15]),
        "split_intensity": st.sampled_from(["range", "relevance", "unit"]),
        "vote": st.just("learned"),
        "split_prior": st.sampled_from([0.2, 0.8]),
        "step": st.sampled_from([0.5, 2.0]),
        "dirichlet": st.sampled_from([0.01, 1.0]),
        "n_classes": st.sampled_from([3, 4]),
        "use_aggregation": st.just(False),
    },
)
