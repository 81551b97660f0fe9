import struct

import pytest

from river_amf.inputs.unrolled import dict_reader, float_check, identity_check

LENGTHS = [0, 1, 2, 7, 64, 65, 200]


@pytest.mark.parametrize("length", LENGTHS)
def test_identity_is_that_of_each_item(length):
    same = identity_check(length)
    values = tuple(1e9 + i for i in range(length))
    assert same(values, tuple(values))
    for k in range(length):
        other = list(values)
        other[k] = float(repr(values[k]))  # equal, but another object
        assert not same(values, tuple(other))


@pytest.mark.parametrize("length", LENGTHS)
def test_only_floats_are_floats(length):
    are_floats = float_check(length)
    values = tuple(float(i) for i in range(length))
    assert are_floats(values) and are_floats(list(values))
    odd = (1, True, "1.0", None, type("Float", (float,), {})(1.0))
    for k in range(length):
        for value in odd:
            assert not are_floats((*values[:k], value, *values[k + 1 :]))


@pytest.mark.parametrize("length", LENGTHS)
def test_a_reader_returns_the_first_values_by_key(length):
    keys = [("a", i) if i % 2 else i for i in range(length)]
    values = [i / 7 for i in range(length + 3)]
    buffer = memoryview(struct.pack(f"{len(values)}d", *values))
    proba = dict_reader(keys)(buffer)
    assert proba == dict(zip(keys, values, strict=False))
    assert [*proba] == keys
