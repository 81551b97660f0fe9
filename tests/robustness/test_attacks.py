"""No attack by threads, interrupts, forks or lack of memory crashes, hangs or corrupts a model."""

import subprocess
import sys

import attacks
import pytest

NAMES = [attack.__name__ for attack in attacks.ATTACKS]

pytestmark = pytest.mark.slow


def assert_sound(name, n_runs, seconds):
    command = [sys.executable, attacks.__file__, name, str(n_runs), str(seconds), "1"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-200:] + run.stderr[-4000:]


def test_a_model_survives_short_attacks():
    assert_sound("all", 1, 0.2)


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_a_model_survives_a_hundred_attacks(name):
    assert_sound(name, 100, 0.5)
