"""The shape of the package: what imports what, and what is public."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import river_amf
import river_amf.baselines
import river_amf.cli
import river_amf.evaluation
import river_amf.inspection
import river_amf.keyed
import river_amf.persistence
import river_amf.plot
import river_amf.sklearn

PACKAGE = Path(river_amf.__file__).parent
FILES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
MODULES = sorted(FILES)

# from the top down; a module may import only modules below it
LAYERS = [
    {"__main__"},
    {"cli"},
    {"cli.evaluate", "cli.compare", "cli.inspect", "cli.playground", "cli.warm_up"},
    {"cli.live"},
    {"cli.options", "cli.pages", "cli.screen"},
    {"__init__"},
    {"plot", "ray", "sklearn"},
    {"playground"},
    {"playground.snapshots"},
    {"playground.cells", "playground.samples"},
    {"ray.distributed", "ray.keyed_classifier", "ray.keyed_regressor", "ray.partitioned"},
    {"ray.engine", "ray.keyed_models"},
    {"ray.keyed_rows", "ray.team"},
    {"ray.shares"},
    {"ray.cluster", "ray.workers"},
    {"sklearn.classifiers", "sklearn.regressors"},
    {"sklearn.forests"},
    {"sklearn.online_classifier"},
    {"sklearn.online"},
    {"sklearn.saving"},
    {"sklearn.targets"},
    {
        "plot.histories",
        "plot.importances",
        "plot.intervals",
        "plot.models",
        "plot.regression",
        "plot.surfaces",
        "plot.trees",
    },
    {"plot.grids", "plot.lines"},
    {"plot.canvas"},
    {"evaluation"},
    {"evaluation.report"},
    {"evaluation.comparison", "evaluation.intervals"},
    {"evaluation.running"},
    {"evaluation.runs"},
    {"evaluation.label_recording", "evaluation.number_recording"},
    {"evaluation.recording"},
    {"evaluation.history", "evaluation.importance", "evaluation.progressive"},
    {"evaluation.sources"},
    {"evaluation.prequential", "inspection"},
    {"evaluation.blocks", "evaluation.delays", "evaluation.predictors", "evaluation.rows"},
    {"evaluation.scores", "evaluation.tasks"},
    {"evaluation.metrics"},
    {"evaluation.streams"},
    {"evaluation.targets"},
    {"evaluation.kinds"},
    {"evaluation.files", "evaluation.tracks"},
    {"evaluation.errors", "evaluation.figures", "evaluation.interval_metrics"},
    {"pages"},
    {"pages.playground", "pages.report"},
    {"pages.labels", "pages.numbers"},
    {"pages.along"},
    {"pages.canvas"},
    {"pages.document", "pages.records"},
    {"keyed"},
    {"keyed.classifier", "keyed.regressor"},
    {"keyed.models"},
    {"keyed.keeping"},
    {"keyed.pool", "keyed.ways"},
    {"keyed.parcels", "keyed.routing", "keyed.store"},
    {"keyed.keys"},
    {"baselines", "emphasis", "permutation"},
    {"baselines.classification", "baselines.regression"},
    {"baselines.preparation", "baselines.recurrent"},
    {"importance", "linear"},
    {"shards"},
    {"hub"},
    {"classifier", "regressor", "dummy", "partitions"},
    {"forest", "pieces", "target_explanation"},
    {"engine", "explanation", "trees"},
    {"cutting", "restoring", "room", "sparse_rows", "wording"},
    {"columns", "persistence.target_soundness", "persistence.values", "pruning", "settings"},
    {"persistence.soundness"},
    {"labels", "targets"},
    {"persistence"},
    {"trends"},
    {
        "frames",
        "paths",
        "persistence.container",
        "persistence.scalars",
        "rows",
        "tables",
        "voices",
    },
    {"words"},
    {"budget", "parameters", "persistence.headers", "waiting", "events", "sparse"},
    {"encoding", "state"},
    {"locks", "workers"},
    {"categories", "mismatch", "vocabulary", "weights"},
    {"draws", "kinds", "scaling", "sizes", "toys", "unrolled"},
    {"kernels"},
    {"kernels.blocks", "kernels.warming"},
    {"kernels.learning"},
    {"kernels.hearing", "kernels.regression"},
    {"kernels.expansion", "kernels.growth", "kernels.trends", "kernels.voting"},
    {"kernels.target_vote"},
    {"kernels.aggregation", "kernels.room", "kernels.tracing", "kernels.words"},
    {"kernels.correlation", "kernels.intervals", "kernels.profiles", "kernels.voices"},
    {"kernels.store", "kernels.intensity", "kernels.cosines"},
    {"kernels.densities", "kernels.stacking"},
    {"kernels.standardisation"},
    {"kernels.boxes", "kernels.structure"},
    {"kernels.estimates"},
    {"kernels.random_numbers"},
    {"kernels.arrays"},
    {"kernels.fading", "kernels.parts"},
    {"kernels.answers", "kernels.compilation", "kernels.views"},
    {"layout"},
    {
        "kernels.cache",
        "kernels.libraries",
        "_startup",
        "_version",
        "persistence.replacement",
        "persistence.sources",
    },
    {"persistence.errors"},
]
# modules that are imported by a name from a file, and may be in any layer: module -> choices
BY_NAME = {"persistence": set(river_amf.persistence._MODULES.values())}


def imports(module):
    """Yield the full names that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(FILES[module].read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_of_packages(module):
    """Return the top-level packages that a module imports, anywhere in it."""
    return {name.partition(".")[0] for name in imports(module)}


def own(name):
    """Return the module of this package that contains a name, or None for other packages."""
    package, _, name = name.partition(".")
    if package != "river_amf":
        return None
    while name and name not in FILES:
        name = name.rpartition(".")[0]
    return name or "__init__"


def test_every_module_has_its_layer():
    assert sorted(module for layer in LAYERS for module in layer) == MODULES


def test_imports_point_downwards():
    upwards = []
    for depth, layer in enumerate(LAYERS):
        below = {name for layer in LAYERS[depth + 1 :] for name in layer}
        for module in layer:
            names = [name for name in imports(module) if own(name) not in below | {None}]
            upwards += [f"{module} imports {name}" for name in names]
    assert upwards == []


def test_the_only_imports_by_name_are_of_what_a_file_may_hold():
    calls = [m for m in MODULES if "import_module(" in FILES[m].read_text()]
    assert calls == [*BY_NAME]
    assert BY_NAME["persistence"] == {"river_amf.sklearn"}


def test_the_version_is_that_of_the_package_s_lowest_module():
    assert river_amf.__version__ == river_amf._version.__version__
    assert not [*imports("_version")]


def test_only_the_kernels_know_numba_and_the_state_knows_numpy_alone():
    knowing = {m for m in MODULES if any(i.split(".")[0] == "numba" for i in imports(m))}
    assert {m.split(".")[0] for m in knowing} == {"kernels"}
    third_party = {i.split(".")[0] for m in ("layout", "state") for i in imports(m)}
    assert third_party - sys.stdlib_module_names == {"numpy", "river_amf"}


NAMED = ("html", "live", "parquet", "plot", "ray", "rnn", "sklearn")  # extras, for users


def test_hints_how_to_install_an_extra_hold_for_a_clone_and_for_an_index():
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    code = "\n".join(path.read_text().replace('\\"', '"') for path in FILES.values())
    hints = re.findall(r'pip install ((?:"[^" ]+" ?)+)', code)
    assert len(hints) == code.count("pip install")
    extras = project["optional-dependencies"]
    packages = {package for hint in hints for package in hint.split()}
    assert packages == {f'"{needed}"' for extra in NAMED for needed in extras[extra]}


def public_objects():
    """Yield every public class and function with its module, including internal modules."""
    for module in MODULES:
        if (module.startswith("_") and module != "__init__") or module.startswith("ray"):
            continue  # tests/ray/test_public.py is about the latter
        name = "river_amf" if module == "__init__" else f"river_amf.{module}"
        for attribute, value in vars(importlib.import_module(name)).items():
            is_own = getattr(value, "__module__", None) == name
            if is_own and not attribute.startswith("_") and callable(value):
                yield f"{module}.{attribute}", value


def test_every_public_name_is_documented():
    names = dict(public_objects())
    assert len(names) > 100
    assert [name for name, thing in names.items() if not inspect.getdoc(thing)] == []


FOR_USERS = (
    river_amf,
    river_amf.baselines,
    river_amf.cli,
    river_amf.evaluation,
    river_amf.inspection,
    river_amf.keyed,
    river_amf.persistence,
    river_amf.plot,
    river_amf.sklearn,
)
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


def test_every_public_name_has_a_doctest():
    assert without_doctest(PUBLIC) == []


def test_every_public_method_has_a_doctest():
    methods = methods_of(PUBLIC)
    assert len(methods) > 20
    assert without_doctest(methods) == []


IMPORTS = """
import sys
import river_amf, river_amf.cli, river_amf.evaluation, river_amf.plot, river_amf.sklearn
print(sorted({"ray", "river_amf.ray"} & set(sys.modules)))
"""


def test_only_the_package_for_ray_imports_it():
    assert {m.partition(".")[0] for m in MODULES if "ray" in imports_of_packages(m)} <= {"ray"}
    run = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True)
    assert run.stdout == "[]\n", run.stderr
