"""The command on files as people have them: what it says about them, and its options."""

from __future__ import annotations

import pytest

from river_amf import cli

RUNS = {
    "evaluate": ["evaluate", "--model", "majority"],
    "compare": ["compare", "--models", "majority"],
}
ROWS = [[i, f"{i % 5}.5", "NA" if i % 9 else "red", "yes" if i % 3 else "no"] for i in range(40)]
TEXT = "a;b;c;target\n" + "".join(";".join(map(str, row)) + "\n" for row in ROWS)


@pytest.fixture(params=RUNS)
def run(request, capsys):
    """Run a subcommand; return its status, the first line of output, and the lines on stderr."""

    def run_command(*arguments):
        try:
            status = cli.main([*RUNS[request.param], *map(str, arguments)])
        except SystemExit as error:
            status = error.code
        output, error = capsys.readouterr()
        assert "Traceback" not in error
        last = [line.split("\r")[-1].strip() for line in error.split("\n")]  # without the bar
        return status, output.partition("\n")[0], [line for line in last if line]

    return run_command


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def test_a_file_of_any_separator_needs_no_options(run, write):
    status, title, lines = run(write(TEXT))
    assert (status, lines) == (0, [])
    assert title.startswith("table.csv: 40 samples")


def test_columns_of_ids_and_texts(run, write, capsys):
    rows = "".join(
        f"u{i},day {i % 9} of {['peace', 'war'][i % 2]} {i},{'xy'[i % 2]}\n" for i in range(120)
    )
    path = write("id,note,target\n" + rows)
    lines = run(path)[2]
    assert "column 'id': 120 distinct texts in 120 rows: drop it (--drop)?" in lines[0]
    assert "column 'note': values such as 'day 0 of peace 0' look like text: --text" in lines[1]
    status, title, lines = run(path, "--drop", "id", "--text", "note")
    assert (status, lines) == (0, [])
    assert title == "'note' is a bag of words: absent words are 0, and so are missing numbers"
    assert cli.main(["evaluate", str(path), "--drop", "id", "--text", "note", "--seed", "1"]) == 0
    title, *_, last = capsys.readouterr().out.splitlines()[1:]
    assert "features: words of 'note'; AdaptiveAMFClassifier(n_estimators=10, seed=1)" in title
    assert float(last.split()[1]) > 0.7


def test_rows_without_a_label_are_counted(run, write):
    status, title, _ = run(write("a,target\n1,\n" + "1,x\n2,y\n" * 5 + "3,\n"))
    assert status == 0
    assert title.startswith("table.csv: 10 samples (2 rows without a label skipped)")
    assert run(write("a,target\n1,\n1,x\n"))[1].startswith(
        "table.csv: 1 samples (1 row without a label skipped)"
    )


def test_a_little_text_is_reported_in_one_line(run, write):
    text = "a,b,target\n" + "1,2,x\n" * 97 + "oops,much,x\n" * 3
    status, _, lines = run(write(text))
    assert status == 0
    assert len(lines) == 2
    for line, column, example in zip(lines, "ab", ("oops", "much"), strict=True):
        reported = f"table.csv: column '{column}': 3 of 100 values are text, such as '{example}'"
        assert line.startswith("river-amf: ")
        assert reported in line
        assert "--missing" in line
    assert run(write(text), "--missing", "oops,much")[2] == []
    wide = ",".join(f"c{i}" for i in range(20)) + "\n" + (",".join("1" * 20) + "\n") * 20
    lines = run(write(wide + ",".join("x" * 20) + "\n"))[2]
    assert len(lines) == 6
    assert lines[-1] == "river-amf: and 14 more such columns"


def test_a_quantity_is_for_regressors(run, write):
    path = write("a,price\n" + "".join(f"{i % 7},{i % 874}\n" for i in range(1000)))
    status, output, lines = run(path)
    assert (status, output) == (2, "")
    (line,) = lines
    assert line.startswith("river-amf: error: model 'majority' is a classifier, but the task")
    assert "regression, as 'price' holds numbers such as 0, which needs a regressor" in line
    assert "--task" in line
    assert "--target" in line
    status, title, _ = run(path, "--task", "classification")
    assert status == 0
    assert title.startswith("table.csv: 1000 samples")


@pytest.mark.parametrize("separator", ["\t", "\\t", "tab"])
def test_options_of_files_are_those_of_load_stream(separator, run, write):
    path = write("1;2\t-9\t1,5\tgröß\n3\tx;y\t0,5\tja\n".encode("latin-1"))
    options = ["--separator", separator, "--encoding", "latin-1", "--no-header", "--missing", "-9"]
    options += ["--decimal", ","]
    status, title, lines = run(path, *options, "--target", "3", "--categorical", "1")
    assert (status, lines) == (0, [])
    assert title.startswith("table.csv: 2 samples")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--separator", "ab"], "separator must be a single character, such as ';' or a tab"),
        (["--encoding", "utf-88"], "unknown encoding 'utf-88'"),
        (["--encoding", "utf-16"], "cannot read"),
        (["--separator", "|"], "has only one column, 'a;b;c;target': are its fields separated by"),
        (["--metrics", "F1"], "positive (--positive) names the label that counts as True"),
        (["--positive", "yes"], "none of the metrics needs one, as F1 and ROCAUC do"),
        (["--positive", "ye", "--metrics", "F1"], "has the label 'ye' (did you mean 'yes'?"),
    ],
)
def test_an_option_that_does_not_do_is_one_line(arguments, message, run, write):
    status, output, lines = run(write(TEXT), *arguments)
    assert (status, output) == (2, "")
    (line,) = lines
    assert line.startswith("river-amf: error: ")
    assert message in line
