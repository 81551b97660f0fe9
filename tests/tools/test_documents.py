"""DESIGN.md and the code fit together: sections that are cited, names that are used."""

import re
from itertools import pairwise
from pathlib import Path

from test_package import FILES, LAYERS

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


def test_files_that_the_design_names_exist():
    names = set(PATH.findall(DESIGN))
    assert "tests/naive.py" in names and "kernels/numba_tools/cache.py" in names
    roots = (PACKAGE, PACKAGE.parent)
    assert [n for n in sorted(names) if not any((root / n).exists() for root in roots)] == []


def maps_of_calls():
    """Return the lines of the maps of calls."""
    section = DESIGN.partition("### Calls")[2].partition("\n## ")[0]
    return re.findall(r"^    .*$", section, re.MULTILINE)


def test_names_that_the_design_uses_occur_in_the_code():
    code = {word for path in SOURCES for word in WORD.findall(path.read_text(encoding="utf-8"))}
    texts = [*re.findall(r"`([^`\n]+)`", DESIGN), *maps_of_calls()]
    used = {word for text in texts for word in WORD.findall(PATH.sub("", text))}
    names = {word for word in used if "_" in word.strip("_") or word[0].isupper()}
    assert {"aggregate_upwards", "encode_to_learn", "LAYOUT", "Engine"} <= names
    assert sorted(names - code) == []


def test_the_maps_of_calls_say_where_a_function_is():
    named = [line for line in maps_of_calls() if PATH.search(line)]
    assert len(named) > 20
    for line in named:
        path = PATH.search(line)
        source = (PACKAGE / path[0]).read_text(encoding="utf-8")
        calls = WORD.findall(line[: path.start()])
        assert any(f"def {name}(" in source or f"class {name}:" in source for name in calls), line


def test_layers_are_listed_in_their_order():
    block = DESIGN.partition("### Layers")[2].partition("###")[0]
    lines = [line.split("  ")[0].split(", ") for line in re.findall(r"^ {4}(\w.*)$", block, re.M)]
    listed = [name for line in lines for name in line]
    parts = {name.partition(".")[0] for name in FILES} - {"__main__", "__init__", "_version"}
    assert sorted(listed) == sorted(parts)
    depth = {name: i for i, layer in enumerate(LAYERS) for name in layer}
    for line, next_line in pairwise(lines):
        assert max(depth[name] for name in line) <= min(depth[name] for name in next_line)
