"""The mutants of tests/mutants.py still find the text that they change."""

from pathlib import Path

import mutants

import river_amf


def test_each_mutant_finds_its_text_once():
    package = Path(river_amf.__file__).parent
    found = mutants.mutants()
    assert len(found) > 60
    lost = [name for name, mutant in found.items() if not mutant.is_found_in(package)]
    assert not lost
