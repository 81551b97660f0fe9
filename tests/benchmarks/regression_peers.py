"""River's regressors for `regression.py`, and the table of what came of them."""

import csv
import functools
from collections.abc import Callable

import command
from river import forest, tree
from river.base import Regressor

from river_amf import baselines
from river_amf.baselines.regression import behind_scalers, linear_regression
from river_amf.scaling import TargetScaler

TABLE = command.HERE / "regression.csv"
Table = dict[tuple[str, str], dict[str, str]]  # rows by model and stream


def hat(seed: int) -> Regressor:
    """Return river's adaptive Hoeffding tree as it comes."""
    return tree.HoeffdingAdaptiveTreeRegressor(seed=seed)


def hat_scaled(seed: int) -> Regressor:
    """Return it as the Hoeffding tree of the baselines is."""
    model = tree.HoeffdingAdaptiveTreeRegressor(leaf_model=linear_regression(), seed=seed)
    return behind_scalers(model)


def arf(seed: int) -> Regressor:
    """Return river's adaptive random forest as it comes."""
    return forest.ARFRegressor(n_models=10, seed=seed)


def amf(seed: int) -> Regressor:
    """Return river's Mondrian forest as it comes."""
    return forest.AMFRegressor(n_estimators=10, seed=seed)


def amf_scaled(seed: int) -> Regressor:
    """Return it with a target of mean 0 and standard deviation 1."""
    return TargetScaler(amf(seed))


def baseline(name: str, seed: int) -> Regressor:
    """Return one of the baselines."""
    return baselines.regressors(seed)[name]()


OURS = ("amf", "adaptive")  # among the baselines
RIVER: dict[str, Callable[[int], Regressor]] = {
    **{
        name: functools.partial(baseline, name)
        for name in baselines.regressors()
        if name not in OURS
    },
    "HAT": hat,
    "HAT, scaled": hat_scaled,
    "ARF": arf,
    "AMF": amf,
    "AMF, target scaled": amf_scaled,
}
SHORT = {"ARF": 5_000, "bagging": 5_000, "srp": 2_000}  # rows, as they are slow
COLUMNS = ("model", "stream", "rows", "r2", "rmse", "mae", "us")


def read_table() -> Table:
    """Return what is known of river's models, by model and stream."""
    if not TABLE.exists():
        return {}
    with open(TABLE, newline="", encoding="utf-8") as file:
        return {(row["model"], row["stream"]): row for row in csv.DictReader(file)}


def write_row(row: list[object]) -> None:
    """Put a row into the table, in place of an older one."""
    kept = {key: [*old.values()] for key, old in read_table().items()}
    kept[str(row[0]), str(row[1])] = [*map(str, row)]
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *kept.values()])
