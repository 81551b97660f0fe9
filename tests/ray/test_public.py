"""The public names of river_amf.ray are documented as those of the rest of the package."""

import doctest
import importlib

from test_package import MODULES, methods_of, without_doctest

import river_amf.ray

PUBLIC = {name: getattr(river_amf.ray, name) for name in river_amf.ray.__all__}


def test_public_names_and_methods_have_doctests():
    assert without_doctest(PUBLIC) == []
    example = PUBLIC["DistributedForest"].__doc__  # the only one that starts workers
    names = [name.partition(".")[2] for name in without_doctest(methods_of(PUBLIC))]
    assert [name for name in names if f".{name}(" not in example] == []


def test_doctests_of_modules():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for name in (m for m in MODULES if m.startswith("ray")):
        module = importlib.import_module(f"river_amf.{name}")
        assert doctest.testmod(module, optionflags=flags).failed == 0
