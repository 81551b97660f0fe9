"""DESIGN.md, mutants and the code fit together: sections that are cited, names, and constants.

The figures in README.md are those of the runs that tests/benchmarks keeps.
"""

import importlib
import re
from pathlib import Path

import mutants
import numpy as np
import pandas as pd
import pytest

import river_amf

PACKAGE = Path(river_amf.__file__).parent
TESTS = Path(__file__).resolve().parents[1]
DESIGN = (PACKAGE / "DESIGN.md").read_text(encoding="utf-8")
SOURCES = sorted([*PACKAGE.rglob("*.py"), *TESTS.rglob("*.py")])
SOURCES.remove(Path(__file__).resolve())
HEADINGS = re.findall(r"^##+ (.+)$", DESIGN, re.MULTILINE)

# "(DESIGN.md: learned vote, restarts)", perhaps broken over lines
CITATION = re.compile(r"DESIGN\.md: ([^);.\]\"`]+)")
PATH = re.compile(r"[\w/]+\.py\b")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")


def test_citations_and_links_name_headings():
    headings = [heading.lower() for heading in HEADINGS]
    assert len({*headings}) == len(headings)
    texts = (re.sub(r"\s*\n\s*(# )?", " ", path.read_text(encoding="utf-8")) for path in SOURCES)
    cited = {
        name for text in texts for names in CITATION.findall(text) for name in names.split(", ")
    }
    assert len(cited) > 10
    assert {name.lower() for name in cited} - {*headings} == set()
    anchors = {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in headings}
    links = {*re.findall(r"\]\(#([^)]*)\)", DESIGN)}
    assert links and links <= anchors


def test_files_of_design_exist():
    names = set(PATH.findall(DESIGN))
    assert "tests/naive.py" in names and "kernels/numba_tools/cache.py" in names
    roots = (PACKAGE, PACKAGE.parent)
    assert [n for n in sorted(names) if not any((root / n).exists() for root in roots)] == []


MAPS_OF_CALLS = re.findall(
    r"^    .*$", DESIGN.partition("### Calls")[2].partition("\n## ")[0], re.M
)


def test_names_of_design_occur_in_code():
    code = {word for path in SOURCES for word in WORD.findall(path.read_text(encoding="utf-8"))}
    formulas = re.findall(r"\b[A-Z][A-Z_]{2,}\b", "\n".join(re.findall(r"^    .*$", DESIGN, re.M)))
    texts = [*re.findall(r"`([^`\n]+)`", DESIGN), *MAPS_OF_CALLS, *formulas]
    used = {word for text in texts for word in WORD.findall(PATH.sub("", text))}
    names = {word for word in used if "_" in word.strip("_") or word[0].isupper()}
    assert {"aggregate_upwards", "encode_to_learn", "DROPPED", "Engine"} <= names
    assert sorted(names - code) == []


def test_maps_of_calls_name_files_of_functions():
    named = [line for line in MAPS_OF_CALLS if PATH.search(line)]
    assert len(named) > 20
    for line in named:
        path = PATH.search(line)
        source = (PACKAGE / path[0]).read_text(encoding="utf-8")
        calls = WORD.findall(line[: path.start()])
        assert any(f"def {name}(" in source or f"class {name}:" in source for name in calls), line


def test_each_mutant_finds_its_text_once():
    found = mutants.mutants()
    assert len(found) > 60
    assert [name for name, mutant in found.items() if not mutant.is_found_in(PACKAGE)] == []


def test_way_of_a_sample_names_functions():
    way = DESIGN.partition("### A sample's way")[2].partition("\n### ")[0]
    code = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    names = {name.rpartition(".")[2] for name in re.findall(r"`([\w.]+)`", way)}
    assert (
        len(names) > 20 and [n for n in names if not re.search(rf"(def|class) {n}\b", code)] == []
    )


def test_tests_patch_no_private_name():
    patches = re.compile(r'setattr\([^)]*[".]_[a-z]')
    assert [path for path in TESTS.rglob("*.py") if patches.search(path.read_text())] == []


# Not of the mathematics: capacities, sizes of records, how many there are of something, and codes.
TECHNICAL = {
    *("ANSWER", "CLOSED_FORM", "FEW_SAMPLES", "HALF", "LEAF", "LOG_SCALE", "MISSING", "UNSEEN"),
    *("MISSING_CODE", "NO_LIMIT", "N_ADDITIVE", "N_COMMON", "N_MORE", "N_PURE", "N_RECENT_ERRORS"),
    *("N_ROW_KINDS", "N_STACKED", "N_TERM_ROWS", "N_TRENDS", "N_VOTERS", "OF_VOTER"),
    *("RAREST", "READY_SPLITS"),
}


def module_of(path):
    return importlib.import_module("river_amf." + path.removesuffix(".py").replace("/", "."))


def numbers_of(path):
    """Yield the names of numbers, without enumerations, sizes in bytes, and marks up to 0."""
    source, module = (PACKAGE / path).read_text(encoding="utf-8"), module_of(path)
    for names in re.findall(r"^([A-Z_][A-Z0-9_, ]*) = ", source, re.M):
        values = {name: getattr(module, name) for name in names.split(", ")}
        if len(values) == 1 or [*values.values()] != [*range(len(values))]:
            for name, value in values.items():
                is_technical = (isinstance(value, int) and value <= 0) or name.endswith("_BYTES")
                if isinstance(value, int | float | np.floating) and not is_technical:
                    yield name


def test_table_of_constants_is_that_of_code():
    section = DESIGN.partition("\n## Constants\n")[2].partition("\n## ")[0]
    listed, path = set(), ""
    for line in section.splitlines():
        if line.startswith("| ") and not line.startswith("| section"):
            _, names, values, file, *_ = (cell.strip(" `") for cell in line[1:].split("|"))
            path = file or path
            for name, text in zip(names.split("`, `"), values.split(", "), strict=True):
                value = getattr(module_of(path), name)
                assert value == type(value)(eval(text.replace("^", "**"))), (path, name)
                listed.add((path, name))
    assert len(listed) > 150
    paths = [*(PACKAGE / "kernels").rglob("*.py"), PACKAGE / "engine/settings.py"]
    names = {path.relative_to(PACKAGE).as_posix() for path in [*paths, PACKAGE / "state/layout.py"]}
    names = {name for name in names if "numba_tools" not in name and "status.py" not in name}
    code = {(path, name) for path in names for name in numbers_of(path) if name not in TECHNICAL}
    assert sorted(code - listed) == []


BENCHMARKS = TESTS / "benchmarks"
README = (TESTS.parent / "README.md").read_text(encoding="utf-8")
TEXT = " ".join(README.split())


def table(name):
    lines = (BENCHMARKS / name).read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    body = [row for row in rows[2:] if len(row) == len(rows[0])]
    return pd.DataFrame(body, columns=rows[0]).set_index(rows[0][0])


@pytest.fixture(scope="module")
def runs():
    """Return mean accuracies on the twelve streams that drift, and mean times, by model."""
    moa = pd.read_csv(BENCHMARKS / "moa.csv", index_col="stream")
    rows = pd.read_csv(BENCHMARKS / "drift.csv")
    rows = rows[rows["stream"].isin(moa.index)]
    by_model = rows.pivot_table(["accuracy", "us_per_sample"], "stream", "model")
    assert len(by_model) == 12
    return by_model["accuracy"].join(moa), by_model["us_per_sample"].mean()


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("`AdaptiveAMFClassifier`", "AdaptiveAMF"),
        ("`AMFClassifier`", "AMF"),
        ("MOA's SRP", "MOA SRP"),
        ("MOA's ARF", "MOA ARF"),
        ("river's SRP", "SRP"),
        ("river's ARF", "ARF"),
    ],
)
def test_readme_has_mean_accuracies(runs, name, model):
    accuracies, times = runs
    (row,) = (line for line in README.splitlines() if line.startswith(f"| {name} | "))
    cells = [cell.strip(" *") for cell in row.strip("|").split("|")]
    n_best = (accuracies.idxmax(axis=1) == model).sum()
    us = f"{float(f'{times[model]:.3g}'):.0f}" if model in times else ""
    best = f"{n_best} of 12" if n_best == 12 else f"{n_best}"
    assert cells[1:] == [f"{accuracies[model].mean():.3f}", best, us]


def test_readme_has_figures_of_votes():
    mean, learned = (
        [float(part) for part in cell.split(" / ")] for cell in table("votes.md").loc["mean"][:2]
    )
    assert f"expected calibration error is {mean[2]:.3f}" in TEXT
    assert f'`vote="learned"` {learned[2]:.3f}' in TEXT
    assert f"accuracy is {100 * (learned[0] - mean[0]):.1f} points higher" in TEXT


def test_readme_has_figures_of_regression():
    means = table("regression.md").loc["mean of the ten"]
    ours, theirs = float(means["AdaptiveAMFRegressor"]), float(means["published: ASML-REG"])
    assert f"`AdaptiveAMFRegressor` is {ours:.3f}, that of ASML-REG [{theirs:.3f}]" in TEXT


def test_readme_has_figures_of_speed():
    ratios = table("speed.md")["river AMF / per sample"].replace("", "nan").astype(float).dropna()
    assert f"[{ratios.min():.0f} to {ratios.max():.0f} times]" in TEXT


def test_readme_is_short():
    assert len(README.splitlines()) <= 140
