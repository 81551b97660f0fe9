import numpy as np
import pytest

from river_amf.pages.toys import TOYS


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
