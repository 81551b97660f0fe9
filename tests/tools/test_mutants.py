"""The mutants of tests/mutants.py still find the text that they change."""

from pathlib import Path

import mutants

import river_amf

PACKAGE = Path(river_amf.__file__).parent


def test_each_mutant_finds_its_text_once():
    found = [mutant for mutant in mutants.mutants() if mutant.file]
    assert len(found) > 190
    lost = [
        f"{mutant.name}: {mutant.file}"
        for mutant in found
        if (PACKAGE / mutant.file).read_text(encoding="utf-8").count(mutant.old) != 1
    ]
    assert not lost


def test_names_of_mutants_differ():
    names = [mutant.name for mutant in mutants.mutants()]
    assert len(set(names)) == len(names)
