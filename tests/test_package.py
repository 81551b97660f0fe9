"""The shape of the package: what imports what, and what is public."""

import ast
import importlib
import inspect
import sys
from pathlib import Path

import pytest

import river_amf
import river_amf.sklearn

PACKAGE = Path(river_amf.__file__).parent
MODULES = sorted(path.stem for path in PACKAGE.glob("*.py"))

# from the top down; a module may import only modules below it
LAYERS = [
    {"__main__"},
    {"cli"},
    {"cli_evaluate", "cli_compare"},
    {"cli_options"},
    {"__init__"},
    {"plot", "sklearn"},
    {"plot_comparison", "plot_history", "plot_surface", "plot_tree"},
    {"curves"},
    {"canvas"},
    {"evaluation"},
    {"comparison"},
    {"history", "runs"},
    {"prequential", "progressive", "inspection"},
    {"measures"},
    {"streams"},
    {"tracks", "tables"},
    {"baselines"},
    {"forest", "dummy"},
    {"blocks", "columns", "explanation", "persistence", "soundness", "values"},
    {"container", "frames", "paths"},
    {"parameters"},
    {"encoding", "_kernels"},
    {"state"},
]


def imports(module):
    """Yield the full names that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse((PACKAGE / f"{module}.py").read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module == "river_amf":
                yield from (f"river_amf.{alias.name}" for alias in node.names)
            else:
                yield node.module


def test_every_module_has_its_layer():
    assert sorted(module for layer in LAYERS for module in layer) == MODULES


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module):
    (depth,) = (i for i, layer in enumerate(LAYERS) if module in layer)
    below = {name for layer in LAYERS[depth + 1 :] for name in layer}
    if module in ("cli", "__main__"):
        below |= {"__version__"}
    for name in imports(module):
        package, _, imported = name.partition(".")
        if package == "river_amf":
            assert imported.partition(".")[0] in below | {""}, name


def test_only_the_kernels_know_numba_and_the_state_knows_numpy_alone():
    assert [m for m in MODULES if any(i.split(".")[0] == "numba" for i in imports(m))] == [
        "_kernels"
    ]
    third_party = {i.split(".")[0] for i in imports("state")} - sys.stdlib_module_names
    assert third_party == {"numpy"}


def public_objects():
    for module in MODULES:
        if module.startswith("_") and module != "__init__":
            continue
        name = "river_amf" if module == "__init__" else f"river_amf.{module}"
        for attribute, value in vars(importlib.import_module(name)).items():
            own = getattr(value, "__module__", None) == name
            if (
                own
                and not attribute.startswith("_")
                and (inspect.isclass(value) or callable(value))
            ):
                yield pytest.param(value, id=f"{module}.{attribute}")


@pytest.mark.parametrize("thing", list(public_objects()))
def test_every_public_name_is_documented(thing):
    assert inspect.getdoc(thing)


CLASSES = [
    getattr(module, name)
    for module in (river_amf, river_amf.sklearn)
    for name in module.__all__
    if inspect.isclass(getattr(module, name))
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_every_public_class_and_method_has_a_doctest(cls):
    assert ">>>" in cls.__doc__
    for attribute, method in inspect.getmembers(cls, inspect.isfunction):
        if not attribute.startswith("_") and method.__module__.startswith("river_amf"):
            assert ">>>" in method.__doc__, attribute
