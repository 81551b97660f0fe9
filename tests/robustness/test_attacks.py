"""No attack by threads, interrupts, forks or lack of memory crashes, hangs or corrupts a model.

Each runs in a process of its own: see `attacks`. One short run of each is for every day; a soak is
a hundred and more of each, a minute or two for most.
"""

import pytest
from attacks import survey

pytestmark = pytest.mark.slow

DRILLS = ["sound", "corrupt", "hang", "crash", "sound", "leave"]
FAMILIES = {
    "threads": [
        "learn_beside_predictions",
        "blocks_beside_predictions",
        "four_learn",
        "first_calls",
        "nobody_starves",
        "copies_at_rest",
        "copies_of_a_learner",
        "medley",
        "dummies",
        "estimators",
    ],
    "interrupts": [
        "interrupted_samples",
        "interrupted_blocks",
        "interrupted_reads",
        "interrupted_files",
        "interrupted_dummies",
        "interrupted_estimators",
        "interrupts_beside_threads",
        "errors_at_lines",
        "errors_at_instructions",
    ],
    "shortages": ["failing_allocations", "failing_reads", "exhausted_memory"],
    "handlers": [
        "handlers_with_the_same_model",
        "handlers_with_another_model",
        "handlers_beside_threads",
        "labels_that_meddle",
    ],
    "forks": [
        "forks_beside_learning",
        "forks_beside_reading",
        "forks_in_two_threads",
        "forks_beside_compiling",
        "forks_broken_off",
    ],
}
ATTACKS = [f"{family}.{name}" for family, names in FAMILIES.items() for name in names]
LONG = ["threads.medley", "threads.dummies", "threads.estimators"]


def test_a_survey_tells_what_became_of_each_attack():
    result = survey([(f"drills.{name}", seed) for seed, name in enumerate(DRILLS)], 0.0, 0.5)
    outcomes = [*result.outcomes.values()]
    endings = ["crash (SIGABRT)", "sound", "crash (exit 0)"]
    assert outcomes == ["sound", "corrupt", "hang", *endings]
    text = str(result)
    assert text.startswith("6 runs: 2 crashes, 1 hangs, 1 corrupt\n")
    assert "drills.corrupt seed 1: corrupt\n" in text and "\nof all numbers\n" in text
    assert "drills.hang seed 2: hang\n" in text and "drills.leave seed 5: crash" in text


def check(result):
    print(result)
    assert result.is_sound, str(result)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_survives_a_short_attack(family):
    check(survey([(f"{family}.{name}", 1) for name in FAMILIES[family]], 0.1))


@pytest.mark.soak
@pytest.mark.parametrize("name", ATTACKS)
def test_a_model_survives_two_hundred_attacks(name):
    check(survey([(name, seed) for seed in range(200)], 0.5))


@pytest.mark.soak
@pytest.mark.parametrize("name", LONG)
def test_a_model_survives_long_attacks(name):
    check(survey([(name, 1000 + seed) for seed in range(5)], 20.0))


@pytest.mark.soak
@pytest.mark.parametrize("name", ["interrupts.errors_at_lines", "shortages.failing_allocations"])
def test_a_call_may_fail_anywhere(name):
    check(survey([(name, 2000 + seed) for seed in range(40)], 1.0))
