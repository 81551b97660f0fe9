"""The arena: its arrays are those of the table, records without padding."""

import numpy as np
import pytest
from test_naive import ADAPTIVE

from river_amf import AMFClassifier
from river_amf.state import layout


@pytest.mark.parametrize(
    "dtype",
    sorted({dtype for f in layout.FIELDS.values() if (dtype := np.dtype(f.dtype)).names}, key=str),
)
def test_records_are_aligned_and_have_no_padding(dtype):
    assert dtype.isalignedstruct
    assert dtype.itemsize == sum(field[0].itemsize for field in dtype.fields.values())


def test_a_node_fills_a_cache_line():
    assert layout.NODE.itemsize == 64


@pytest.mark.parametrize("parameters", [{}, ADAPTIVE])
def test_arrays_have_shapes_and_dtypes_of_the_table(parameters):
    model = AMFClassifier(n_estimators=2, seed=1, **parameters)
    for i in range(300):
        model.learn_one({"a": i * 37 % 101, "color": "rgb"[i % 3]}, i * i % 5)
    arena = model._arena
    shapes = layout.shapes(arena.capacities)
    for name, field in layout.FIELDS.items():
        array = getattr(arena, name)
        assert (array.shape, array.dtype) == (shapes[name], field.dtype)
    lengths = layout.lengths_in_use(arena.settings, arena.counters, arena.trees)
    assert all(lengths[axis] <= arena.capacities[axis] for axis in layout.AXES)
    used = arena.used_arrays()
    assert tuple(used) == layout.COPIED
    assert all(used[name].shape == layout.shapes(lengths)[name] for name in used)


def test_new_capacity_has_the_fill_of_the_table():
    model = AMFClassifier(n_estimators=2, seed=1)
    model.learn_one({"a": 1.0}, "x")
    arena = model._arena
    in_use = arena.capacities | {"node": 1, "box": 0, "row": 1}  # no more is copied
    shapes = layout.shapes(in_use)
    before = {n: getattr(arena, n)[tuple(map(slice, shapes[n]))].copy() for n in layout.FIELDS}
    capacities = {axis: room + 3 for axis, room in arena.capacities.items() if axis != "tree"}
    arena = arena.resized(**capacities)
    for name, field in layout.FIELDS.items():
        array, old = getattr(arena, name), before[name]
        kept = tuple(map(slice, old.shape))
        assert array[kept].tobytes() == old.tobytes()
        if not layout.UNDEFINED.intersection(field.axes) and "tree" not in field.axes:
            new = np.ones(array.shape, bool)
            new[kept] = False
            expected = np.full(array.shape, field.fill, field.dtype)[new]
            assert array[new].tobytes() == expected.tobytes()
