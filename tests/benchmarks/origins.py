"""The streams: where each comes from, and how to make its file from the public one.

    python tests/benchmarks/origins.py elec2 --from StreamingRandomPatches  # README.md has more

Nothing is downloaded: `--from` names the clone, or a folder that holds clones under the names of
their repositories. A stream becomes FOLDER/NAME.csv.gz in the folder of `--data`: the rows in their
original order, the label last in the column `target`, an empty field for a missing value. Its
checksum, taken over the names of the columns and all values, must be the one in origins.csv. If it
is not, nothing is written and the exit status is 1. `airlines.rar` has to be unpacked in its clone.
"""

import csv
import functools
import gzip
import hashlib
import io
import os
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from streams import HERE, make_parser

Row = list[str]
Origin = dict[str, str]  # a row of origins.csv


def read_origins() -> dict[str, Origin]:
    """Return where the streams come from, by name.

    In origins.csv, `names` are those of the columns where a file has none, `codes` columns that are
    no quantities, and `skipped` is the number of columns before the first that counts.
    """
    with open(HERE / "origins.csv", newline="", encoding="utf-8") as file:
        return {row["stream"]: row for row in csv.DictReader(file)}


# Reading public files


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, or of the one file that is zipped."""
    if path.suffix != ".zip":
        with open(path, encoding="utf-8", newline="") as file:
            yield from file
        return
    with zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
        if len(members) != 1:
            raise SystemExit(f"{path} holds {len(members)} files instead of 1")
        with archive.open(members[0]) as member:
            yield from io.TextIOWrapper(member, encoding="utf-8", newline="")


def read_rows(text: Iterable[str]) -> Iterator[Row]:
    """Read CSV or ARFF without quotes: first the names of the columns, then the values.

    >>> list(read_rows(["@attribute a numeric", "@data", "% nothing", "1, ?"]))
    [['a'], ['1', '']]
    >>> list(read_rows(["a,b", "1, ?"]))
    [['a', 'b'], ['1', '?']]
    """
    names: list[str] | None = None
    for row in csv.reader(text):
        line = row[0].strip() if row else "%"
        if line.lower().startswith("@attribute"):
            names = [*(names or []), line.split()[1].strip("'")]
        elif line.lower() == "@data":
            yield names or []
        elif not line.startswith(("%", "@")):
            missing = "" if names else "?"  # a question mark of ARFF
            yield [missing if cell.strip() == "?" else cell.strip() for cell in row]


def stream_of(text: Iterable[str], origin: Origin) -> Iterator[Row]:
    """Yield the rows of a stream, its columns named and the last of them the target.

    Values of codes get a `v`, so that they are read as text.

    >>> origin = {"names": "", "codes": "a", "skipped": "1"}
    >>> list(stream_of(["row,a,b", "1,2,3"], origin))
    [['a', 'target'], ['v2', '3']]
    """
    rows = (row[int(origin["skipped"]) :] for row in read_rows(text))
    names = origin["names"].split() or next(rows)
    prefixes = ["v" if name in origin["codes"].split() else "" for name in names]
    yield [*names[:-1], "target"]
    for row in rows:
        yield [prefix + cell for prefix, cell in zip(prefixes, row, strict=True)]


# The checksum


@functools.lru_cache(100_000)
def canonical(cell: str) -> str:
    """Write a value in the form that the checksum uses.

    >>> canonical("0.50"), canonical("5e-1"), canonical("3"), canonical("red"), canonical("")
    ('0.5', '0.5', '3.0', 'red', '')
    """
    try:
        return repr(float(cell))
    except ValueError:
        return cell


def checksum(path: Path) -> str:
    """Return the SHA-256 of the names of the columns and all values of a file, in order."""
    total = hashlib.sha256()
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file)):
            cells = map(canonical, row) if number else row
            total.update(("\x1f".join(cells) + "\x1e").encode())
    return total.hexdigest()


# Making the files


def make(name: str, origin: Origin, clones: Path, data: Path) -> Path:
    """Make a stream's file and return its path; if that fails, exit and leave nothing."""
    repository = origin["repository"]
    folders = clones, clones / repository.partition("/")[2]
    source = next((f / origin["file"] for f in folders if (f / origin["file"]).is_file()), None)
    if source is None:
        raise SystemExit(
            f"no {origin['file']} in {' or '.join(map(str, folders))}:"
            f" git clone https://github.com/{repository}"
        )
    data.mkdir(parents=True, exist_ok=True)
    path, unchecked = data / f"{name}.csv.gz", data / f"{name}.csv.gz.unchecked"
    try:
        with gzip.open(unchecked, "wt", 6, encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(stream_of(lines(source), origin))
        if checksum(unchecked) != origin["sha256"]:
            raise SystemExit(
                f"{name}: {source} has another checksum than the file of commit "
                f"{origin['commit']}; nothing is written"
            )
        os.replace(unchecked, path)
    finally:
        unchecked.unlink(missing_ok=True)
    return path


def main(argv: list[str] | None = None) -> int:
    """List the streams, or make some; returns the exit status."""
    origins = read_origins()
    parser = make_parser(__doc__)
    parser.add_argument("streams", nargs="*", metavar="STREAM", help="or all")
    parser.add_argument("--from", dest="clones", type=Path, metavar="FOLDER", help="of the clones")
    arguments = parser.parse_args(argv)
    if bool(arguments.streams) != bool(arguments.clones):
        parser.error("name the streams to make, or all, and with --from the folder of the clones")
    if not arguments.streams:
        for name, origin in origins.items():
            source = f"https://github.com/{origin['repository']} ({origin['license']})"
            print(f"{name}: {source}, commit {origin['commit']}: {origin['file']}")
    unknown = {*arguments.streams} - {*origins, "all"}
    if unknown:
        parser.error(f"no stream {unknown.pop()!r}; there are {', '.join(origins)}")
    for name in origins if "all" in arguments.streams else arguments.streams:
        print(make(name, origins[name], arguments.clones, arguments.data), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
