"""List the models that --model and --models take, and the streams that have names.

A star marks the models that `river-amf compare` runs by default.
"""

import argparse

from river_amf.baselines import DESCRIPTIONS
from river_amf.evaluation import BUNDLED, STREAMS
from river_amf.evaluation.models import TASKS


def run(arguments: argparse.Namespace) -> int:
    for task in TASKS.values():
        print(f"Models for {task.task}:")
        for name in task.models(None):
            print(f"  {name:18} {' *'[name in task.usual]} {DESCRIPTIONS[name]}")
    print("Streams:", *(f"  {name}" for name in (*BUNDLED, *STREAMS)), sep="\n")
    return 0
