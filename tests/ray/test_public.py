"""What river_amf.ray offers: documented as the rest of the package is."""

import doctest
import importlib
import inspect

import pytest
from test_package import MODULES, methods_of, without_doctest

import river_amf.ray

OWN = [module for module in MODULES if module.startswith("ray")]
PUBLIC = {name: getattr(river_amf.ray, name) for name in river_amf.ray.__all__}


def test_every_public_name_has_a_doctest_and_every_method_is_used_in_one():
    assert without_doctest(PUBLIC) == []
    example = PUBLIC["DistributedForest"].__doc__  # the only one that starts workers
    unused = [
        name
        for name in without_doctest(methods_of(PUBLIC))
        if f".{name.partition('.')[2]}(" not in example
    ]
    assert unused == []


def test_every_public_name_of_its_modules_is_documented():
    undocumented = []
    for module in OWN:
        name = f"river_amf.{module}"
        for attribute, value in vars(importlib.import_module(name)).items():
            is_own = getattr(value, "__module__", None) == name and callable(value)
            if is_own and not attribute.startswith("_") and not inspect.getdoc(value):
                undocumented.append(f"{module}.{attribute}")
    assert undocumented == []


@pytest.mark.parametrize("module", OWN)
def test_doctests(module):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.testmod(importlib.import_module(f"river_amf.{module}"), optionflags=flags)
    assert failed == 0
