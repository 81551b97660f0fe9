"""What river_amf.ray offers: documented as the rest of the package is."""

import doctest
import importlib
import inspect

import pytest
from test_package import MODULES, methods_of, without_doctest

import river_amf.ray

PUBLIC = {name: getattr(river_amf.ray, name) for name in river_amf.ray.__all__}


def test_every_public_name_has_a_doctest_and_every_method_is_used_in_one():
    assert without_doctest(PUBLIC) == []
    example = PUBLIC["DistributedForest"].__doc__  # the only one that starts workers
    names = [name.partition(".")[2] for name in without_doctest(methods_of(PUBLIC))]
    assert [name for name in names if f".{name}(" not in example] == []


@pytest.mark.parametrize("name", [f"river_amf.{m}" for m in MODULES if m.startswith("ray")])
def test_every_public_name_of_a_module_is_documented_and_its_examples_run(name):
    module = importlib.import_module(name)
    public = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    own = {k: v for k, v in public.items() if getattr(v, "__module__", None) == name}
    assert [
        key for key, value in own.items() if callable(value) and not inspect.getdoc(value)
    ] == []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, optionflags=flags).failed == 0
