import re

import pytest
from playgrounds import Packed

from river_amf import cli

ROWS = [f"{k % 7},{k * k % 11},x,{'lo' if k % 7 < 3 else 'hi'}" for k in range(30)]
TABLE = "\n".join(["a,b,c,kind", *ROWS, ""])


@pytest.fixture
def table(tmp_path):
    """Return the path of a file of three features, the last of which is text."""
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return str(path)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Take few steps and places."""
    from river_amf.cli import playground_command as command

    whole = command.playground

    def few(*arguments, **options):
        return whole(*arguments, **options, n_steps=2, resolution=3)

    monkeypatch.setattr(command, "playground", few)


def run(capsys, *arguments):
    """Run the command, and return its exit status and output."""
    try:
        status = cli.main(["playground", *arguments])
    except SystemExit as error:
        status = error.code
    return status, *capsys.readouterr()


def test_a_toy_becomes_a_page(capsys, tmp_path):
    path = str(tmp_path / "page.html")
    status, out, err = run(capsys, "Circles", "--html", path, "--limit", "30", "--seed", "1")
    assert (status, err) == (0, "")
    assert re.fullmatch(
        rf"circles: 30 samples; {re.escape(path)}: \d\.\d MB, for any browser\n", out
    )
    scene = Packed((tmp_path / "page.html").read_text(encoding="utf-8")).scene
    assert scene["steps"] == [15, 30]
    assert {key.split("|")[-1] for key in scene["runs"]} == {"none", "swap"}


def test_a_file_becomes_a_page(capsys, tmp_path, table):
    page = tmp_path / "page.html"
    status, out, _ = run(capsys, table, "--html", str(page), "--features", "b, a")
    assert (status, out.split(";")[0]) == (0, "table.csv: 30 samples")
    html = page.read_text(encoding="utf-8")
    assert Packed(html).scene["labels"] == ["hi", "lo"]
    assert "<h1>Playground: table.csv</h1>" in html


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["moon"], "no toy, stream or file 'moon' (did you mean 'moons'?"),
        (["TABLE"], "3 features; choose two of ['a', 'b', 'c']: features=('a', 'b') (--features"),
        (["TABLE", "--features", "a,c"], "'c' must be numeric, but has the value 'x'"),
        (["TABLE", "--target", "d"], "'d'"),
        (["TABLE", "--limit", "19"], "--limit: must be a whole number from 20 to 3000, got '19'"),
        (["moons", "--target", "kind"], "--target is for files, not for moons"),
        (["moons", "--no-header"], "--no-header is for files, not for moons"),
        (["TABLE", "--features", "a,b", "--html", "TABLE"], "it is the input stream"),
        (["moons", "--html", "no/page.html"], "cannot write the page to no/page.html"),
    ],
)
def test_what_cannot_be_drawn_is_reported_in_a_line(capsys, tmp_path, table, arguments, message):
    path = tmp_path / "page.html"
    given = [table if argument == "TABLE" else argument for argument in arguments]
    status, out, err = run(capsys, "--html", str(path), *given)
    assert (status, out) == (2, "")
    assert err.startswith("river-amf: error: ")
    assert err.count("\n") == 1
    assert message in err
    assert not path.exists()
