"""The arena: records without padding, and a handle that always tells where the arrays are."""

import pytest
from test_naive import ADAPTIVE

from river_amf import AMFClassifier, state


@pytest.mark.parametrize(
    "dtype", [state.SETTINGS, state.COUNTERS, state.TREE, state.NODE, state.FEATURE, state.SAMPLE]
)
def test_records_are_aligned_and_have_no_padding(dtype):
    assert dtype.isalignedstruct
    assert dtype.itemsize == sum(field[0].itemsize for field in dtype.fields.values())


def test_a_node_fills_a_cache_line():
    assert state.NODE.itemsize == 64


@pytest.mark.parametrize("parameters", [{}, {"max_nodes": 151}, {"split_pure": True}, ADAPTIVE])
def test_the_handle_is_up_to_date_after_every_sample(parameters):
    model = AMFClassifier(n_estimators=2, seed=1, **parameters)
    fades = "fading_factor" in parameters
    handles = set()
    for i in range(500):
        x = {"a": i * 37 % 101, "b": i * 11 % 53} | ({f"late {i // 100}": i} if i > 200 else {})
        model.learn_one(x, i * i % 7 if i < 250 else i * i % 11)
        arena = model._arena
        handles.add(arena.handle.tobytes())
        for name in state.FIELDS:
            array = getattr(arena, name)
            assert arena.handle[name] == array.ctypes.data
            assert array.flags.c_contiguous
        rooms = {
            "tree_room": {*map(len, (arena.nodes, arena.boxes, arena.links, arena.votes))},
            "node_room": {arena.nodes.shape[1], arena.counts.shape[1], arena.faded.shape[1]},
            "class_room": {arena.counts.shape[2], len(arena.bias), arena.votes.shape[2]},
            "faded_room": {arena.faded.shape[2], (2 + arena.counts.shape[2]) * fades},
            "moment_room": {arena.moments.shape[1], arena.buckets.shape[2]},
            "box_room": {arena.boxes.shape[1]},
            "feature_room": {
                arena.boxes.shape[3],
                arena.rows.shape[1],
                arena.ranges.shape[1],
                arena.limits.shape[1],
                *map(len, (arena.intensity, arena.is_categorical, arena.features, arena.recent)),
                len(arena.moments),
                len(arena.buckets),
            },
            "row_room": {len(arena.rows), len(arena.samples), arena.links.shape[1]},
        }
        for name, lengths in rooms.items():
            assert lengths == {arena.handle[name][0]}
    assert len(handles) > 10
