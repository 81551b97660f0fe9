"""The shape of the package: what imports what, and what is public."""

import ast
import graphlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import river_amf
import river_amf.cli
import river_amf.persistence

PACKAGE = Path(river_amf.__file__).parent
FILES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
MODULES = sorted(FILES)

# The rooms of the package, from the top down: folders, and modules outside of any. What lies in a
# room may import from its own room and from those below.
LAYERS = [
    {"__main__"},
    {"cli"},
    {"__init__"},
    {"plot", "ray", "sklearn"},
    {"evaluation"},
    {"pages"},
    {"baselines", "keyed"},
    {"classifier", "dummy", "regressor"},
    {"forest"},
    {"inspection"},
    {"engine"},
    {"explain", "persistence"},
    {"kernels", "parameters"},
    {"inputs"},
    {"state"},
    {"_version"},
]
LAYERS_OF_KERNELS = [
    {"kernels"},
    {"chunks"},
    {"learning"},
    {"by_kind"},
    {"regression"},
    {"classification"},
    {"tree"},
    {"features"},
    {"numba_tools"},
]


def imports(module):
    """Yield the full names that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(FILES[module].read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_of(name):
    """Return the module of this package that contains a name, or None for other packages."""
    package, _, name = name.partition(".")
    if package != "river_amf":
        return None
    while name and name not in FILES:
        name = name.rpartition(".")[0]
    return name or "__init__"


def room(module):
    """Return the folder at the top of the package that a module lies in, or the module."""
    return module.partition(".")[0]


def room_of_kernels(module):
    """Return the folder among the kernels that a module lies in, or the module."""
    return module.removeprefix("kernels.").partition(".")[0]


def upward_imports(modules, layers, room):
    """Return the imports, by some modules of each other, that do not point downwards."""
    depths = {name: depth for depth, layer in enumerate(layers) for name in layer}
    assert {room(module) for module in modules} == depths.keys()
    upwards = []
    for module in modules:
        for other in {module_of(name) for name in imports(module)} & set(modules) - {module}:
            here, there = room(module), room(other)
            if here != there and depths[here] >= depths[there]:
                upwards.append(f"{module} imports {other}")
    return upwards


def test_imports_between_rooms_point_downwards():
    assert upward_imports(MODULES, LAYERS, room) == []
    kernels = [module for module in MODULES if room(module) == "kernels"]
    assert upward_imports(kernels, LAYERS_OF_KERNELS, room_of_kernels) == []


def test_no_imports_run_in_circles():
    imported = {
        module: {module_of(name) for name in imports(module)} - {None} for module in MODULES
    }
    for module, others in imported.items():
        # the package is loaded before what lies in it
        others.difference_update({module, "__init__"} if module != "__main__" else {module})
    assert [*graphlib.TopologicalSorter(imported).static_order()]


def test_only_submodules_are_imported_by_name():
    calls = [m for m in MODULES if "import_module(" in FILES[m].read_text()]
    assert calls == ["__init__"]


def test_packages_are_imported_by_their_rooms():
    packages = {m: {name.partition(".")[0] for name in imports(m)} for m in MODULES}
    for package, only in (("numba", "kernels"), ("ray", "ray"), ("sqlite3", "keyed")):
        assert {room(m) for m in MODULES if package in packages[m]} == {only}
    of_state = set().union(*(packages[m] for m in MODULES if room(m) == "state"))
    assert of_state - sys.stdlib_module_names == {"numpy", "river_amf"}


NAMED = ("html", "parquet", "plot", "ray", "rnn", "sklearn")  # extras, for users


def test_hints_how_to_install_an_extra_hold():
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    code = "\n".join(path.read_text().replace('\\"', '"') for path in FILES.values())
    hints = re.findall(r'pip install ((?:"[^" ]+" ?)+)', code)
    assert len(hints) == code.count("pip install")
    extras = project["optional-dependencies"]
    packages = {package for hint in hints for package in hint.split()}
    assert packages == {f'"{needed}"' for extra in NAMED for needed in extras[extra]}


SUBMODULES = {"baselines", "evaluation", "inspection", "keyed", "plot", "sklearn"}
FOR_USERS = [river_amf, river_amf.cli, river_amf.persistence]
FOR_USERS += [getattr(river_amf, name) for name in sorted(SUBMODULES)]
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in FOR_USERS
    for name in module.__all__
}


def methods_of(things):
    """Return the public methods of the classes among named things, by name."""
    return {
        f"{name}.{attribute}": method
        for name, cls in things.items()
        if inspect.isclass(cls)
        for attribute, method in inspect.getmembers(cls, inspect.isfunction)
        if not attribute.startswith("_") and method.__module__.startswith("river_amf")
    }


def without_doctest(things):
    """Return the names of classes and functions that lack a doctest."""
    documented = {n: t for n, t in things.items() if inspect.isclass(t) or inspect.isfunction(t)}
    return [name for name, thing in documented.items() if ">>>" not in (thing.__doc__ or "")]


def test_public_names_and_methods_have_doctests():
    assert without_doctest(PUBLIC) == []
    assert len(methods_of(PUBLIC)) > 20
    assert without_doctest(methods_of(PUBLIC)) == []


def test_submodules_list_what_is_public():
    assert {*dir(river_amf)} == {*river_amf.__all__, *SUBMODULES, "ray"}
    for name in SUBMODULES:
        module = getattr(river_amf, name)
        listed = {each for each in dir(module) if not each.startswith("_")}
        modules = {m.rpartition(".")[2] for m in MODULES if m.startswith(f"{name}.")}
        assert listed - modules == {*module.__all__} - modules
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        river_amf.nothing  # noqa: B018


LAZY = {  # what is run, and which modules it must not import
    "no submodule before its use": (
        "import river_amf",
        {f"river_amf.{s}" for s in (*SUBMODULES, "ray")},
    ),
    "no pandas for single samples": (
        """
import river_amf
model = river_amf.AMFClassifier(n_estimators=1)
for x in ({"size": 1.0, "color": "red"}, {"size": float("nan"), "color": None}):
    model.predict_proba_one(x)
    model.learn_one(x, "yes")
""",
        {"pandas"},
    ),
    "no Ray": (
        "import river_amf, river_amf.cli, river_amf.evaluation, river_amf.plot, river_amf.sklearn",
        {"ray", "river_amf.ray"},
    ),
}


@pytest.mark.parametrize(("code", "modules"), LAZY.values(), ids=LAZY)
def test_imports_are_lazy(code, modules):
    code += f"\nimport sys; print({modules} & {{*sys.modules}} or 'none')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("none\n", "")


EXTRAS = {  # of submodules: the package to block, and the one to install
    "plot": ("matplotlib", "matplotlib>=3.8"),
    "ray": ("ray", "ray>=2.51"),
    "sklearn": ("sklearn", "scikit-learn>=1.6"),
}
WITHOUT_EXTRAS = (
    f"extras = {EXTRAS}"
    """
import inspect, pydoc, sys
sys.modules |= dict.fromkeys(package for package, _ in extras.values())
import river_amf, river_amf.cli, river_amf.evaluation
assert "Aggregated Mondrian Forests" in pydoc.render_doc(river_amf)
assert extras.keys().isdisjoint(dict(inspect.getmembers(river_amf)))
for name in extras:
    assert not hasattr(river_amf, name)
    for call in ("river_amf.{}", "from river_amf import {}", "import river_amf.{}"):
        try:
            exec(call.format(name))
        except (AttributeError, ImportError) as error:
            print(f"{type(error).__name__}: {error}")
"""
)


def test_submodules_name_the_extra_that_they_lack():
    run = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True)
    expected = [
        rf'{kind}: river_amf\.{name} needs .*: pip install "{re.escape(needed)}"\n'
        for name, (_, needed) in EXTRAS.items()
        for kind in ("AttributeError", "ImportError", "ImportError")
    ]
    assert re.fullmatch("".join(expected), run.stdout), run.stderr
