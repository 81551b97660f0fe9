"""Standard input is read as it comes, and gives the samples that a file would."""

import io
import itertools
import json
import sys

import pytest

from river_amf import cli
from river_amf.evaluation import EvaluationError, load_stream


class Pipe(io.RawIOBase):
    """Standard input that gives one line at a time, and knows how many it has given."""

    def __init__(self, lines):
        self.lines, self.n_read = [*lines], 0

    def readable(self):
        return True

    def readinto(self, buffer):
        if self.n_read == len(self.lines):
            return 0
        data = self.lines[self.n_read]
        self.n_read += 1
        buffer[: len(data)] = data
        return len(data)


@pytest.fixture
def feed(monkeypatch):
    def begin(lines):
        pipe = Pipe(line.encode("latin-1") for line in lines)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(pipe)))
        return pipe

    return begin


def rows(n):
    for i in range(n):
        gap = "" if i % 11 == 3 else f"{i / 4}".replace(".", ",")
        note = '"größer; \nas ""it"" is"' if i % 7 == 2 else "little"
        yield f"{i % 5};{gap};{i % 3 == 0};{note};{'' if i % 50 == 9 else 'xy'[i % 2]}\n"


LINES = ["whole;part;seen;note;target\n", *rows(1500)]
OPTIONS = {"decimal": ",", "encoding": "latin-1"}


def plain(samples):
    return [(dict(x), y) for x, y in samples]


@pytest.mark.parametrize("options", [{}, {"limit": 1200}, {"limit": 30}, {"text": "note"}])
def test_the_samples_are_those_of_a_file(options, feed, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("".join(LINES), encoding="latin-1", newline="")
    expected = plain(load_stream(path, **OPTIONS, **options))
    # a line that a field breaks comes in two parts
    feed("".join(LINES).splitlines(keepends=True))
    assert plain(load_stream("-", **OPTIONS, **options)) == expected
    feed(LINES)
    assert plain(load_stream("-", **OPTIONS, **options).kept()) == expected
    feed(LINES[1:])
    columns = {"no_header": True, "target": "4"}
    options = options | ({"text": "3"} if "text" in options else {})
    assert [y for _, y in load_stream("-", **OPTIONS, **options, **columns)] == [
        y for _, y in expected
    ]


def test_a_row_is_there_when_it_has_come(feed):
    pipe = feed(LINES)
    stream = load_stream("-", **OPTIONS)
    assert (pipe.n_read, stream.n_samples) == (1001, 980)
    samples = iter(stream)
    [*itertools.islice(samples, 980)]
    assert pipe.n_read == 1001
    next(samples)
    assert pipe.n_read == 1002


def test_lines_of_json_come_as_well(feed):
    lines = [
        {"a": i / 2 if i % 9 else None, "b": f"w{i % 4}", "target": "xy"[i % 2]}
        for i in range(1300)
    ]
    feed(json.dumps(line) + "\n" for line in lines)
    expected = [
        (
            {name: value for name, value in line.items() if name != "target" and value is not None},
            line["target"],
        )
        for line in lines
    ]
    assert plain(load_stream("-")) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x;1,5;True;n;x\n", "row 1002 of standard input has 'x' in 'whole', but 'whole' holds"),
        ("1;1.5;True;n;x\n", "row 1002 of standard input has '1.5' in 'part'"),
        (
            "1;1,5;maybe;n;x\n",
            "has 'maybe' in 'seen', but 'seen' holds True and False in",
        ),
        ("1;inf;True;n;x\n", "has 'inf' in 'part'"),
        ("1;1,5;True;n;x;y\n", "row 1002 of standard input has 6 fields, but its header 5"),
    ],
)
def test_a_row_that_does_not_fit_is_named(line, message, feed):
    feed([*LINES[:1002], line])
    with pytest.raises(EvaluationError, match=message):
        [*load_stream("-", **OPTIONS)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": ', "row 1003 of standard input is not JSON"),
        ("[1]", r"row 1003 of standard input must be a JSON object, .* got list"),
        ('{"a": "x", "y": 1}', "row 1003 of standard input has 'x' in 'a'"),
        (r'{"a": "\ud800", "y": 1}', "row 1003 of standard input is not JSON"),
    ],
)
def test_a_line_that_does_not_fit_is_named(line, message, feed):
    feed([*[f'{{"a": {i % 7}, "y": {i % 2}}}\n' for i in range(1002)], line])
    with pytest.raises(EvaluationError, match=message):
        [*load_stream("-")]


def test_the_commands_take_what_comes(feed, tmp_path, capsys):
    options = ["-", "--decimal", ",", "--encoding", "latin-1", "--seed", "1"]
    feed(LINES)
    model = tmp_path / "m"
    assert cli.main(["evaluate", *options, "--save", str(model)]) == 0
    title, _, first, last = capsys.readouterr().out.splitlines()
    assert title.startswith("standard input: 980 samples and those to come (20 rows without a")
    assert (first.split()[0], last.split()[0]) == ("1000", "1470")
    feed(LINES)
    assert cli.main(["compare", *options, "--models", "majority"]) == 0
    assert (
        "standard input: 1470 samples (30 rows without a label skipped)" in capsys.readouterr().out
    )
    feed(LINES)
    assert cli.main(["predict", str(model), "-"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("1500,")
    feed([*LINES[:1200], "x;1,5;True;n;x\n"])
    with pytest.raises(SystemExit):
        cli.main(["evaluate", *options])
    assert "error: row 1200 of standard input has 'x' in 'whole'" in capsys.readouterr().err
