import numpy as np
import pytest

from river_amf.pages.toys import TOYS, blobs, circles, linear, moons, spiral


@pytest.mark.parametrize("name", TOYS)
def test_a_seed_gives_the_same_samples_with_all_labels_from_the_start(name):
    points, labels = TOYS[name](500, seed=1)
    again = TOYS[name](500, seed=1)
    np.testing.assert_array_equal(points, again[0])
    np.testing.assert_array_equal(labels, again[1])
    assert not np.array_equal(points, TOYS[name](500, seed=2)[0])
    assert (points.shape, labels.shape) == ((500, 2), (500,))
    n_labels = 3 if name == "blobs" else 2
    assert {*labels[:20].tolist()} == {*range(n_labels)}
    assert np.bincount(labels).min() > 0.7 * 500 / n_labels
    assert np.isfinite(points).all()
    assert [part.shape for part in TOYS[name](0, seed=1)] == [(0, 2), (0,)]
    with pytest.raises(ValueError, match="negative"):
        TOYS[name](-1)


def distance(points, shape):
    """Return how far each point is from the nearest one of a dense shape."""
    return np.linalg.norm(points[:, None] - shape[None], axis=2).min(axis=1)


@pytest.mark.parametrize(
    ("toy", "maker", "options"),
    [(moons, "make_moons", {}), (circles, "make_circles", {"factor": 0.5})],
)
def test_shapes_are_those_of_scikit_learn(toy, maker, options):
    datasets = pytest.importorskip("sklearn.datasets")
    theirs, their_labels = getattr(datasets, maker)(4000, **options)
    ours, labels = toy(500, noise=0.0, seed=1)
    for label in (0, 1):
        shape = theirs[their_labels == label]
        assert distance(ours[labels == label], shape).max() < 0.01
        assert distance(shape[::20], ours[labels == label]).max() < 0.1  # all of it is covered


@pytest.mark.parametrize("toy", [moons, circles, blobs, spiral])
def test_noise_is_the_standard_deviation_about_the_shape(toy):
    clean, labels = toy(4000, noise=0.0, seed=1)
    noisy, same = toy(4000, noise=0.3, seed=1)
    np.testing.assert_array_equal(labels, same)
    assert (noisy - clean).std(axis=0) == pytest.approx([0.3, 0.3], rel=0.05)


def test_the_line_moves_with_the_noise():
    points, labels = linear(4000, noise=0.5, seed=1)
    wrong = (points.sum(axis=1) > 0) != labels
    assert 0.05 < wrong.mean() < 0.2
    assert np.abs(points[wrong].sum(axis=1)).max() < 0.5 * 5


def test_an_arm_of_the_spiral_is_the_other_one_after_half_a_turn():
    points, labels = spiral(3000, noise=0.0, seed=1)
    first, second = (points[labels == label] for label in (0, 1))
    assert distance(-second, first).max() < 0.1
    assert distance(second, first).min() > 0.05
