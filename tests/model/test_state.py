"""The arena: records without padding, and a handle that always knows where the arrays are."""

import os
import subprocess
import sys

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


SEEN_BY_KERNELS = """
import sys
import numba
import numpy as np
import river_amf
from river_amf.state import layout
from river_amf.kernels.numba_tools.arrays import tree_of, view_of
from river_amf.kernels.numba_tools.views import FORESTS, SAMPLES
from river_amf.state.arena import Block

kind = getattr(river_amf, sys.argv[1])
model = kind(n_estimators=2, seed=1)
for i in range(100):
    model.learn_one({"a": i * 37 % 101, "color": "rgb"[i % 3]}, i * i % 5)
arena = model._arena
forest_of, samples_of = view_of(FORESTS[arena.kind]), view_of(SAMPLES)
block = Block(np.zeros((7, 2)), np.zeros(7), np.ones(7), np.zeros((7, 6)))
block.prepare(arena, 7, predicts=True, learns=True)

def seen(view, name):
    exec(f"def get(arena, block): return {view}.{name}", globals())
    get_array = numba.njit(get, inline="always")

    @numba.njit
    def probe(arena, block):
        array = get_array(arena, block)
        return array.shape, array.strides, array.ctypes.data

    return probe(arena.address, block.address)

for view, owner, names in (
    ("forest_of(arena)", arena, layout.FIELDS),
    ("samples_of(block)", block, layout.BLOCK_FIELDS),
):
    for name in names:
        array = getattr(owner, name)
        shape, strides, address = seen(view, name)
        assert shape == array.shape, name
        if array.size:  # otherwise, it may have any
            assert (strides, address) == (array.strides, array.ctypes.data), name

tree = "tree_of(forest_of(arena), 1, forest_of(arena).intensity[0])"
for name in ("nodes", "counts", "targets", "faded", "boxes", "links"):
    array = getattr(arena, name)[1]
    shape, strides, address = seen(tree, name)
    assert shape == array.shape, name
    if array.size:
        assert (strides, address) == (array.strides, array.ctypes.data), name

@numba.njit
def records(address):
    forest = forest_of(address)
    tree = tree_of(forest, 1, forest.intensity[0])
    of_tree = tree.state["key"], tree.settings["step"], len(tree.intensity)
    return of_tree, forest.handle["version"]

state = arena.trees["key"][1], 1.0, arena.capacities["feature"]
assert records(arena.address) == (state, arena.handle["version"][0])
"""


@pytest.mark.soak
@pytest.mark.parametrize(
    ("kind", "without_the_compiler"),
    [("AdaptiveAMFClassifier", "0"), ("AdaptiveAMFRegressor", "1")],
)
def test_the_kernels_see_what_the_table_says(kind, without_the_compiler):
    environment = os.environ | {"NUMBA_DISABLE_JIT": without_the_compiler}
    command = [sys.executable, "-c", SEEN_BY_KERNELS, kind]
    run = subprocess.run(command, env=environment, text=True)
    assert run.returncode == 0


@pytest.mark.parametrize("parameters", [{}, ADAPTIVE])
def test_every_array_has_the_shape_and_dtype_of_the_table(parameters):
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


def test_room_to_grow_is_what_the_table_says():
    model = AMFClassifier(n_estimators=2, seed=1)
    model.learn_one({"a": 1.0}, "x")
    arena = model._arena
    before = {name: getattr(arena, name).copy() for name in layout.FIELDS}
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
