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

DESIGN = (PACKAGE / "DESIGN.md").read_text(encoding="utf-8")
# The rooms of the package, from the top down: folders, and modules outside of any. What lies in a
# room may import from its own room and from those below.
LISTED = re.findall(r"^ {4}(\w.*?)  ", DESIGN.partition("### Layers")[2].partition("###")[0], re.M)
CLI, *OTHERS = [{*line.split(", ")} for line in LISTED]
LAYERS = [{"__main__"}, CLI, {"__init__"}, *OTHERS, {"_version"}]
KERNELS = "kernels chunks contributions learning steps by_kind pending regression classification"
KERNELS += " tree features lateness numba_tools status"
LAYERS_OF_KERNELS = [{name} for name in KERNELS.split()]


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


def test_imports_run_in_no_circle():
    graph = {module: {module_of(name) for name in imports(module)} - {None} for module in MODULES}
    for module, others in graph.items():
        # the package is loaded before what lies in it
        others.difference_update({module, "__init__"} if module != "__main__" else {module})
    assert [*graphlib.TopologicalSorter(graph).static_order()]


def test_modules_have_at_most_700_lines():
    assert [m for m in MODULES if FILES[m].read_text().count("\n") > 700] == []


def test_packages_are_imported_in_their_rooms():
    packages = {m: {name.partition(".")[0] for name in imports(m)} for m in MODULES}
    for package, only in (("numba", "kernels"), ("ray", "ray"), ("sqlite3", "keyed")):
        assert {room(m) for m in MODULES if package in packages[m]} == {only}
    of_state = set().union(*(packages[m] for m in MODULES if room(m) == "state"))
    assert of_state - sys.stdlib_module_names == {"numpy", "river_amf"}


NAMED = ("html", "parquet", "plot", "ray", "sklearn")  # extras, for users


def test_hints_install_extras():
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
    return {
        f"{name}.{attribute}": method
        for name, cls in things.items()
        if inspect.isclass(cls)
        for attribute, method in inspect.getmembers(cls, inspect.isfunction)
        if not attribute.startswith("_") and method.__module__.startswith("river_amf")
    }


def without_doctest(things):
    documented = {n: t for n, t in things.items() if inspect.isclass(t) or inspect.isfunction(t)}
    return [name for name, thing in documented.items() if ">>>" not in (thing.__doc__ or "")]


def test_public_names_and_methods_have_doctests():
    assert without_doctest(PUBLIC) == []
    assert len(methods_of(PUBLIC)) > 20
    assert without_doctest(methods_of(PUBLIC)) == []


def test_submodules_list_public_names():
    namespace = {}
    exec("from river_amf import *", namespace)
    assert dir(river_amf) == sorted({*namespace} - {"__builtins__"}) == sorted(river_amf.__all__)
    assert {*river_amf.__all__} >= SUBMODULES
    shown = {name for name in vars(river_amf.inspection) if name[0] != "_"}
    assert shown == {*river_amf.inspection.__all__}
    for name in SUBMODULES:
        module = getattr(river_amf, name)
        listed = {each for each in dir(module) if not each.startswith("_")}
        modules = {m.rpartition(".")[2] for m in MODULES if m.startswith(f"{name}.")}
        assert listed - modules == {*module.__all__} - modules
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        river_amf.nothing  # noqa: B018


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


SINGLE_SAMPLES = """import river_amf
model = river_amf.AMFClassifier(n_estimators=1)
for x in ({"size": 1.0, "color": "red"}, {"size": float("nan"), "color": None}):
    model.predict_proba_one(x)
    model.learn_one(x, "yes")
"""
EVENT = "import logging, river_amf; logging.getLogger('river_amf.keyed').warning('not printed')"
LAZY = {  # what is run, printing nothing, and which modules it must not import
    EVENT: {"numba"},
    "import river_amf.__main__, river_amf.cli": {"numba", "numpy", "river", "tqdm"},
    "from river_amf import AMFClassifier": {f"river_amf.{name}" for name in (*SUBMODULES, "ray")},
    SINGLE_SAMPLES: {"pandas"},
    "import river_amf.cli, river_amf.evaluation, river_amf.plot, river_amf.sklearn": {"ray"},
}


@pytest.mark.parametrize("code", LAZY)
def test_imports_are_lazy(code):
    process = run(f"{code}\nimport sys; print({LAZY[code]} & {{*sys.modules}} or 'none')")
    assert (process.stdout, process.stderr) == ("none\n", "")


WITHOUT_EXTRAS = """import sys
sys.modules |= dict.fromkeys(["matplotlib", "ray", "sklearn"])
import river_amf
"""


@pytest.mark.parametrize(
    ("name", "package"), [("plot", "matplotlib"), ("ray", "ray"), ("sklearn", "scikit-learn")]
)
@pytest.mark.parametrize(
    ("code", "error"),
    [("river_amf.{}", "AttributeError"), ("from river_amf import {}", "ImportError")],
)
def test_submodule_names_missing_extra(name, package, code, error):
    process = run(WITHOUT_EXTRAS + code.format(name))
    hint = rf'\n{error}: river_amf\.{name} needs .*: pip install "{package}>=.*"\n$'
    assert re.search(hint, process.stderr), process.stderr
