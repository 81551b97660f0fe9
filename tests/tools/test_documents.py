"""DESIGN.md and the code fit together: sections that are cited, names that are used."""

import re
from pathlib import Path

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
    texts = [*re.findall(r"`([^`\n]+)`", DESIGN), *MAPS_OF_CALLS]
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


def test_tests_patch_no_private_name():
    patches = re.compile(r'setattr\([^)]*[".]_[a-z]')
    assert [path for path in TESTS.rglob("*.py") if patches.search(path.read_text())] == []
