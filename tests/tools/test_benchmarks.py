"""The scripts of tests/benchmarks: how they make the streams, what they say, how they end."""

import csv
import doctest
import gzip
import importlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "tests" / "benchmarks"
SHARED = ROOT.parent / "shared" / "data"

SCRIPTS = (
    "calls",
    "cluster",
    "costs",
    "defaults",
    "drift",
    "figures",
    "keyed",
    "lock",
    "memory",
    "origins",
    "outliers",
    "partitioned",
    "pictures",
    "regression",
    "regression_defaults",
    "soak",
    "speed",
    "start_up",
    "trees",
    "voices",
    "words",
)
STREAMS = (
    "elec2",
    "weather",
    "airlines",
    "adult",
    "bank",
    "car",
    "letter",
    "satimage",
    "keystroke",
    "rialto",
    "gmsc",
    "phishing_websites",
    "spam",
)
OF_NUMBERS = (
    "House8L",
    "MetroTraffic",
    "abalone",
    "ailerons",
    "bike",
    "cpu_activity",
    "elevators",
    "fried",
    "kin8nm",
    "white_wine",
)


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # `command` sets it


def module(name):
    return importlib.import_module(name)


@pytest.fixture
def status(monkeypatch):
    """Return the exit status of a script that is run in this process."""

    def run(name, *argv):
        monkeypatch.setattr(sys, "argv", [f"{name}.py"])
        with pytest.raises(SystemExit) as ended:
            module("command").run(lambda: module(name).main([str(word) for word in argv]))
        return ended.value.code

    return run


def one_line(text):
    (line,) = text.splitlines()
    return line


# Public files


def zipped(path, name, text):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, text)
        archive.writestr(f"__MACOSX/._{name}", "anything")
    return path


ARFF = """@relation toy
% a comment
@ATTRIBUTE size numeric
@attribute color {red,green}

@attribute class {UP,DOWN}
@data
1,red,UP

?, green ,DOWN
"""


def test_arff_becomes_a_stream(tmp_path):
    origins = module("origins")
    path = zipped(tmp_path / "toy.arff.zip", "toy.arff", ARFF)
    assert list(origins.plain_arff(path)) == [
        ["size", "color", "target"],
        ["1", "red", "UP"],
        ["", "green", "DOWN"],
    ]


def test_csv_becomes_a_stream(tmp_path):
    origins = module("origins")
    path = tmp_path / "toy.csv"
    path.write_text("a,b,Delay\r\nx, 3 ,1\r\n\r\ny, 4 ,0\r\n", newline="")
    assert list(origins.plain_csv(path)) == [["a", "b", "target"], ["x", "3", "1"], ["y", "4", "0"]]
    path.write_text(",a,y\n0,0.5,7\n1,0.25,8\n")
    assert list(origins.numbered_csv(path)) == [["a", "target"], ["0.5", "7"], ["0.25", "8"]]


def test_codes_are_marked(tmp_path):
    origins = module("origins")
    path = tmp_path / "car.csv"
    path.write_text("low,med,2,more,big,high,good\n")
    names, row = origins.car(path)
    assert names == ["buying", "maint", "doors", "persons", "lug_boot", "safety", "target"]
    assert row == ["low", "med", "v2", "vmore", "big", "high", "good"]
    path.write_text("age,day,campaign,y\n58,5,1,no\n")
    assert list(origins.bank(path)) == [
        ["age", "day", "campaign", "target"],
        ["58", "v5", "v1", "no"],
    ]


def test_a_file_without_a_header_gets_its_names(tmp_path):
    origins = module("origins")
    path = tmp_path / "adult.csv"
    path.write_text("39, ?,77516, a, b, c, d, e, f,2174,0,40, g, <=50K\n")
    names, row = origins.adult(path)
    assert len(names) == len(row) == 14
    assert (names[0], names[-1]) == ("age", "target")
    assert row[:3] == ["39", "?", "77516"]  # here a question mark is a category of its own
    assert row[-1] == "<=50K"


def test_a_rar_archive_that_was_unpacked_is_read_from_beside_it(tmp_path):
    origins = module("origins")
    (tmp_path / "airlines.csv").write_text("Airline,Time,Delay\nCO, 15 , 1\n")
    rows = origins.airlines(tmp_path / "airlines.rar")
    assert list(rows) == [["Airline", "Time", "target"], ["CO", "15", "1"]]


def test_a_rar_archive_that_nothing_unpacks(tmp_path, monkeypatch):
    origins, command = module("origins"), module("command")
    monkeypatch.setattr(origins.shutil, "which", lambda tool: None)
    with pytest.raises(command.Failed, match=r"bsdtar.*unpack it as .*airlines\.csv"):
        list(origins.airlines(tmp_path / "airlines.rar"))


# The checksum

ROWS = [["a", "b", "target"], ["1.5", "red", "0"], ["", "green", "1"]]


def test_checksum_is_of_values_not_of_how_they_are_written():
    checksum = module("origins").checksum
    same = [["a", "b", "target"], ["15e-1", "red", "0.0"], ["", "green", "01"]]
    assert checksum(same) == checksum(ROWS)


@pytest.mark.parametrize(
    "other",
    [
        [ROWS[0], ROWS[2], ROWS[1]],
        ROWS[:2],
        [["b", "a", "target"], *ROWS[1:]],
        [*ROWS[:2], ["0", "green", "1"]],
        [*ROWS[:2], ["", "green", "1", ""]],
        [*ROWS[:2], ["gr", "een", "1"]],
        [ROWS[0], ["1.5000000000000002", "red", "0"], ROWS[2]],
    ],
    ids=["order", "row", "names", "missing", "field", "border", "digit"],
)
def test_checksum_is_of_all_values_in_their_places(other):
    checksum = module("origins").checksum
    assert checksum(other) != checksum(ROWS)


def test_checksum_of_a_file_does_not_depend_on_its_packing(tmp_path):
    origins = module("origins")
    path = tmp_path / "toy.csv.gz"
    origins.write(path, ROWS)
    written = path.read_bytes()
    assert origins.checksum_of_file(path) == origins.checksum(ROWS)
    origins.write(path, ROWS)
    assert path.read_bytes() == written
    with gzip.open(path, "wt", compresslevel=1, newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(ROWS)
    assert path.read_bytes() != written
    assert origins.checksum_of_file(path) == origins.checksum(ROWS)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="there is no ../shared/data")
@pytest.mark.parametrize("name", STREAMS)
def test_checksum_is_that_of_the_measured_stream(name):
    origins = module("origins")
    assert origins.checksum_of_file(SHARED / f"{name}.csv.gz") == origins.ORIGINS[name].checksum


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="there is no ../shared/data")
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_checksum_is_that_of_the_measured_stream_of_numbers(name):
    origins = module("origins")
    path = SHARED / "regression" / f"{name}.csv.gz"
    assert origins.checksum_of_file(path) == origins.ORIGINS[name].checksum


@pytest.mark.skipif(not SHARED.is_dir(), reason="there is no ../shared/data")
@pytest.mark.parametrize("name", ["car", "elec2", "keystroke", "phishing_websites"])
def test_shape_is_that_of_the_measured_stream(name):
    origin = module("origins").ORIGINS[name]
    stream = module("streams").load(name, SHARED)
    assert stream.n_samples == origin.n_rows
    assert (stream.n_numeric, stream.n_categorical) == (origin.n_numeric, origin.n_categorical)
    assert len({y for _, y in stream}) == origin.n_classes


# Making the streams


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """A clone of a repository with one stream, `toy`; returns the folder that holds the clone."""
    origins = module("origins")
    repository = origins.Repository("somebody/toys", "MIT", "0123456789ab")
    (tmp_path / "clones" / "toys" / "a folder").mkdir(parents=True)
    zipped(tmp_path / "clones" / "toys" / "a folder" / "toy.zip", "toy.arff", ARFF)
    rows = [["size", "color", "target"], ["1", "red", "UP"], ["", "green", "DOWN"]]
    origin = origins.Origin(
        repository,
        "a folder/toy.zip",
        origins.plain_arff,
        n_rows=2,
        n_numeric=1,
        n_categorical=1,
        n_classes=2,
        checksum=origins.checksum(rows),
    )
    monkeypatch.setattr(origins, "ORIGINS", {"toy": origin})
    return tmp_path / "clones"


@pytest.mark.parametrize("name", ["toy", "all"])
@pytest.mark.parametrize("source", [".", "toys"])
def test_a_stream_is_made(toy, tmp_path, status, capsys, name, source):
    data = tmp_path / "new" / "data"
    assert status("origins", name, "--from", toy / source, "--data", data) == 0
    assert one_line(capsys.readouterr().out) == str(data / "toy.csv.gz")
    assert os.listdir(data) == ["toy.csv.gz"]
    text = gzip.decompress((data / "toy.csv.gz").read_bytes()).decode()
    assert text == "size,color,target\n1,red,UP\n,green,DOWN\n"
    assert [x for x, _ in module("streams").load("toy", data)] == [
        {"size": 1.0, "color": "red"},
        {"color": "green"},
    ]


def test_a_wrong_checksum_leaves_no_file(toy, tmp_path, status, capsys):
    data = tmp_path / "data"
    zipped(toy / "toys" / "a folder" / "toy.zip", "toy.arff", ARFF.replace("red,UP", "red,DOWN"))
    assert status("origins", "toy", "--from", toy, "--data", data) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert one_line(err).startswith("toy: the values of ")
    assert "checksum" in err
    assert os.listdir(data) == []


def test_a_wrong_checksum_keeps_the_file_that_was_there(toy, tmp_path, status):
    assert status("origins", "toy", "--from", toy, "--data", tmp_path) == 0
    before = (tmp_path / "toy.csv.gz").read_bytes()
    zipped(toy / "toys" / "a folder" / "toy.zip", "toy.arff", ARFF.replace("red,UP", "red,DOWN"))
    assert status("origins", "toy", "--from", toy, "--data", tmp_path) == 1
    assert (tmp_path / "toy.csv.gz").read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [b"", b"no zip", b"PK\x03\x04 no more", None],
    ids=["empty", "text", "broken", "missing"],
)
def test_a_file_that_cannot_be_read(toy, tmp_path, status, capsys, content):
    source = toy / "toys" / "a folder" / "toy.zip"
    source.unlink()
    if content is not None:
        source.write_bytes(content)
    data = tmp_path / "data"
    assert status("origins", "toy", "--from", toy, "--data", data) == 1
    said = one_line(capsys.readouterr().err)
    assert said.startswith("toy: ")
    assert ("git clone https://github.com/somebody/toys" in said) == (content is None)
    assert not data.exists() or os.listdir(data) == []


@pytest.mark.parametrize("text", ["", "@data\n1,2\n", ARFF.replace("1,red", "red")])
def test_an_arff_file_of_another_kind(toy, tmp_path, status, capsys, text):
    zipped(toy / "toys" / "a folder" / "toy.zip", "toy.arff", text)
    assert status("origins", "toy", "--from", toy, "--data", tmp_path) == 1
    assert one_line(capsys.readouterr().err).startswith("toy: ")
    assert list(tmp_path.glob("*.gz*")) == []


def test_all_streams_are_listed(status, capsys):
    assert status("origins") == 0
    listed = capsys.readouterr().out
    origins = module("origins").ORIGINS
    assert tuple(origins) == (*STREAMS, *OF_NUMBERS)
    for name, origin in origins.items():
        assert f" {name}: {origin.file}; " in listed
        assert f"git clone https://github.com/{origin.repository.path}\n" in listed
        assert len(origin.checksum) == 64


@pytest.mark.parametrize("name", ["origins", "soak", "tweets"])
def test_examples_in_docstrings(name):
    results = doctest.testmod(module(name))
    assert results.attempted > 0
    assert results.failed == 0


# Every script


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_says_what_is_measured(name, status, capsys):
    assert status(name, "--help") == 0
    shown, _ = capsys.readouterr()
    assert module(name).__doc__.strip() in shown
    assert "--data FOLDER" in shown


def test_all_scripts_are_tested():
    with_main = {path.stem for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text()}
    assert with_main == set(SCRIPTS)


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        ("cluster figures --streams letter", ["letter"]),
        ("costs --streams elec2", ["elec2"]),
        ("defaults --streams elec2,car", ["elec2", "car"]),
        ("drift --again AMF --streams elec2", ["elec2"]),
        ("figures accuracy --streams letter", ["letter"]),
        ("figures river --streams elec2", ["elec2"]),
        ("outliers", ["elec2", "letter"]),
        ("regression --streams fried,bike", ["fried", "bike"]),
        ("regression_defaults --streams fried", ["fried"]),
        ("speed memory", ["elec2"]),
        ("speed streams memory --streams elec2,weather", ["elec2", "weather"]),
        ("words --streams spam", ["spam"]),
    ],
)
def test_missing_streams_are_one_line(words, missing, tmp_path, status, capsys):
    runs = (BENCHMARKS / "drift.csv").read_bytes()
    assert status(*words.split(), "--data", tmp_path) == 1
    out, err = capsys.readouterr()
    assert out == ""
    line = one_line(err)
    files = ", ".join(f"{name}.csv.gz" for name in missing)
    assert line.startswith(f"left out, not in {tmp_path}: {files} (to make: ")
    assert f"origins.py {' '.join(missing)} --from FOLDER_OF_THE_CLONES --data {tmp_path})" in line
    assert (BENCHMARKS / "drift.csv").read_bytes() == runs


def test_the_streams_that_are_there_are_measured(tmp_path, status, capsys, monkeypatch):
    monkeypatch.setattr(module("figures"), "SEEDS", (1,))
    assert status("figures", "accuracy", "--streams", "elec2,Phishing", "--data", tmp_path) == 0
    out, err = capsys.readouterr()
    assert "elec2.csv.gz" in one_line(err)
    header, _, row = out.split("\n\n")[0].splitlines()
    assert header.startswith("| stream | samples | accuracy | goal | log-loss | goal |")
    assert row.startswith("| Phishing | 1250 | 0.9")


def test_a_goal_that_is_missed(tmp_path, status, capsys, monkeypatch):
    figures = module("figures")
    monkeypatch.setattr(figures, "SEEDS", (1,))
    monkeypatch.setattr(figures, "ACCURACY", [("Phishing", 100, 1.01, None)])
    monkeypatch.setattr(figures, "missed", [])
    assert status("figures", "accuracy", "--streams", "Phishing", "--data", tmp_path) == 1
    assert one_line(capsys.readouterr().err) == "missed: accuracy on Phishing"


REGRESSION = SHARED / "regression"


@pytest.mark.slow
@pytest.mark.skipif(not REGRESSION.is_dir(), reason="there is no ../shared/data/regression")
def test_forests_for_numbers_are_measured(status, capsys, monkeypatch, tmp_path):
    regression, peers = module("regression"), module("regression_peers")
    monkeypatch.setattr(regression, "N_ROWS", 2500)
    monkeypatch.setattr(regression, "N_TIMED", 50)
    monkeypatch.setattr(regression, "missed", [])
    monkeypatch.setattr(peers, "TABLE", tmp_path / "regression.csv")
    regression.frame_of.cache_clear()
    words = ["--data", REGRESSION, "--streams", "kin8nm", "--seeds", "1"]
    assert status("regression", "river", "--models", "mean,AMF", *words) == 0
    status("regression", "river", "--models", "mean", *words)  # a row in place of the older one
    rows = list(csv.DictReader((tmp_path / "regression.csv").read_text().splitlines()))
    assert [(row["model"], row["stream"]) for row in rows] == [
        ("mean", "kin8nm"),
        ("AMF", "kin8nm"),
    ]
    capsys.readouterr()
    status("regression", "streams", "coverage", "speed", *words)
    regression.frame_of.cache_clear()
    out, _ = capsys.readouterr()
    lines = out.splitlines()
    assert lines[2].startswith("| kin8nm | 0.")
    assert any(line.startswith("| AMF | 0.") for line in lines)
    assert any(line.startswith("| greatest window, kin8nm | 0.") for line in lines)
    assert any(line.startswith("| times as fast as river's ARF") for line in lines)


def test_a_table_of_river_s_regressors_is_kept():
    peers = module("regression_peers")
    models = {model for model, _ in peers.read_table()}
    assert models
    assert models <= set(peers.RIVER)


def test_the_price_of_the_lock(status, capsys, monkeypatch):
    monkeypatch.setattr(module("lock"), "REPEATS", 3)
    assert status("lock") == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.count("|") for row in rows] == [5] * 4


@pytest.mark.parametrize("forest", ["AdaptiveAMFClassifier", "AMFRegressor"])
def test_a_short_soak(status, capsys, monkeypatch, forest):
    soak = module("soak")
    monkeypatch.setattr(soak, "PART", 70)
    monkeypatch.setattr(soak, "goals_missed", lambda forest, rows: [])
    assert status("soak", "--samples", "1000", "--forests", forest) == 0
    rows = [line.strip("|").split("|") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [int(row[1]) for row in rows] == [*range(100, 1001, 100)]
    # everything that is to appear has, by the middle of the stream
    assert [int(row[2]) for row in rows] == [9, 10, 11, 12, 12, 13, 13, 13, 13, 13]
    assert [int(row[3]) for row in rows] == [2, 3, 3, 4, 4, 5, 5, 5, 5, 5]


@pytest.mark.slow
def test_bags_of_words(status, capsys):
    words = "--streams tweets --models river:multinomial-nb,dummy --samples 400 --seeds 1,2"
    assert status("words", *words.split()) == 0
    _, _, *rows = capsys.readouterr().out.splitlines()
    accuracy = {row.split("|")[2].strip(): float(row.split("|")[3]) for row in rows}
    assert list(accuracy) == ["river:multinomial-nb", "dummy"]
    assert accuracy["river:multinomial-nb"] > accuracy["dummy"] + 0.1


def test_messages_that_were_not_downloaded_are_left_out(status, capsys, monkeypatch):
    monkeypatch.setattr(module("words").datasets.SMSSpam, "is_downloaded", False)
    assert status("words", "--streams", "sms") == 1
    assert one_line(capsys.readouterr().err).startswith("left out: sms (to get it: river.datasets")


def test_tweets_are_those_of_their_seed():
    tweets = module("tweets").tweets
    assert tweets(20, 3) == tweets(50, 3)[:20] != tweets(20, 4)
    made = tweets(1000)
    assert 0.4 < sum(tweet.positive for tweet in made) / len(made) < 0.6
    assert {len(tweet.text.split()) for tweet in made} <= set(range(8, 18))


def test_a_stream_that_cannot_be_read(tmp_path, status, capsys):
    (tmp_path / "elec2.csv.gz").write_text("this is not gzip")
    assert status("outliers", "--streams", "elec2", "--data", tmp_path) == 1
    assert one_line(capsys.readouterr().err).startswith("outliers.py: error: cannot read ")


@pytest.mark.parametrize(
    "words",
    [
        "costs --streams nothing",
        "defaults --jobs 0",
        "drift --models elec2",
        "drift --seeds 1,x",
        "drift --time-limit nan",
        "drift --picture picture.txt",
        "figures nothing",
        "figures river --streams letter",
        "origins nothing --from .",
        "origins elec2",
        "origins --from .",
        "outliers --data",
        "pictures --to /no/such/folder",
        "regression river --models nothing",
        "soak --samples 0",
        "soak --forests river",
        "speed memory --streams letter",
        "speed floor --picture picture.png",
        "speed --csv /no/such/folder/speed.csv",
        "speed --yardstick /no/such/folder",
        "speed --nothing",
        "words --models nothing",
        "words --samples 0",
    ],
)
def test_bad_arguments_are_one_line(words, status, capsys):
    assert status(*words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert one_line(err).startswith(f"{words.split()[0]}.py: error: ")


@pytest.mark.parametrize(
    "words",
    ["pictures", "drift --picture picture.png", "speed streams --picture picture.png"],
)
def test_without_matplotlib_nothing_is_measured(words, tmp_path, status, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)
    assert status(*words.split(), "--data", tmp_path) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "matplotlib" in one_line(err)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "code",
    [
        None,
        "import no_such_package",
        "def yardstick(X, y): raise FileNotFoundError('no such compiler')",
        "def yardstick(X, y): return 'no figure'",
    ],
)
def test_a_yardstick_that_does_not_run_is_left_out(code, tmp_path, capsys):
    if code is not None:
        (tmp_path / "run.py").write_text(code)
    speed = module("speed")
    speed.add_yardstick(tmp_path)
    assert one_line(capsys.readouterr().err).startswith("C++ yardstick: left out: ")
    assert "C++ yardstick" not in speed.COMPARISONS


def test_a_yardstick_is_a_way_to_run_a_stream(tmp_path, capsys, monkeypatch):
    (tmp_path / "run.py").write_text("def yardstick(X, y): return f'{len(y)}.5 us a sample'")
    speed = module("speed")
    monkeypatch.setattr(speed, "COMPARISONS", dict(speed.COMPARISONS))
    speed.add_yardstick(tmp_path)
    assert capsys.readouterr().err == ""
    way = speed.COMPARISONS["C++ yardstick"]
    case = speed.Clusters(1).draw(20)
    assert way.walk(way.make_model(), case, speed.Answers()) == 20.5


# How a script ends


def ends_with(error):
    def main():
        raise error

    with pytest.raises(SystemExit) as ended:
        module("command").run(main)
    return ended.value.code


def test_ctrl_c_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/some/where/speed.py"])
    assert ends_with(KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "speed.py: interrupted\n"
    module("command").hook(KeyboardInterrupt, KeyboardInterrupt(), None)  # during the imports
    assert capsys.readouterr().err == "speed.py: interrupted\n"


@pytest.mark.parametrize(
    "error", [OSError(28, "no\nspace"), ImportError("no numba"), ValueError("two\nlines")]
)
def test_what_goes_wrong_is_one_line(error, capsys):
    assert ends_with(error) == 1
    assert "error: " in one_line(capsys.readouterr().err)


def test_a_bug_has_its_traceback(capsys):
    with pytest.raises(ZeroDivisionError):
        module("command").run(lambda: 1 // 0)
    module("command").hook(ZeroDivisionError, ZeroDivisionError("a bug"), None)
    assert "ZeroDivisionError: a bug" in capsys.readouterr().err


@pytest.mark.slow
def test_a_script_as_a_process(tmp_path):
    words = ["figures.py", "accuracy", "--streams", "elec2", "--data", tmp_path]
    done = subprocess.run(
        [sys.executable, BENCHMARKS / words[0], *words[1:]], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "elec2.csv.gz" in one_line(done.stderr)


def test_nobody_reads_what_a_script_prints():
    with subprocess.Popen(
        [sys.executable, BENCHMARKS / "origins.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


# The runs of drift.py


@pytest.fixture
def table(tmp_path, monkeypatch):
    """The module of the runs, with an empty table, which runs nothing."""
    runs = module("runs")
    monkeypatch.setattr(runs, "TABLE", tmp_path / "drift.csv")
    monkeypatch.setattr(runs, "CURVES", tmp_path / "drift_curves.csv")

    def run_apart(what, data, time_limit):
        return {**what._asdict(), "accuracy": time_limit, "status": "ok"}, [1, 2]

    monkeypatch.setattr(runs, "run_apart", run_apart)
    yield runs
    runs.stopping.clear()


def accuracies(runs):
    return {what.stream: row["accuracy"] for what, row in runs.read(runs.TABLE).items()}


def test_a_run_is_written_in_place_of_an_older_one(table, tmp_path):
    first, second = (table.Run(name, "AMF", 1) for name in ("elec2", "car"))
    table.run_all([first, second], tmp_path, 0.25, 2)
    assert accuracies(table) == {"elec2": "0.25", "car": "0.25"}
    table.run_all([first], tmp_path, 0.5, 1)
    assert accuracies(table) == {"elec2": "0.5", "car": "0.25"}
    assert {what.stream for what in table.read(table.CURVES)} == {"elec2", "car"}


def test_a_run_that_is_broken_off_leaves_the_older_one(table, tmp_path, monkeypatch):
    what = table.Run("elec2", "AMF", 1)
    table.run_all([what], tmp_path, 0.25, 1)
    finished = table.run_apart

    def break_off(what, data, time_limit):
        table.stopping.set()  # as Ctrl-C does while a run is under way
        return finished(what, data, time_limit)

    monkeypatch.setattr(table, "run_apart", break_off)
    table.run_all([what, what], tmp_path, 0.5, 1)
    assert accuracies(table) == {"elec2": "0.25"}


def test_ctrl_c_stops_the_runs(table, tmp_path, monkeypatch):
    def interrupt(what, data, time_limit):
        raise KeyboardInterrupt

    monkeypatch.setattr(table, "run_apart", interrupt)
    with pytest.raises(KeyboardInterrupt):
        table.run_all([table.Run("elec2", "AMF", 1)], tmp_path, 0.5, 1)
    assert table.stopping.is_set()
    assert not table.TABLE.exists()


# Texts


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(BENCHMARKS.iterdir()) if path.suffix in (".py", ".md", ".csv")],
    ids=lambda path: path.name,
)
def test_nothing_private_is_needed(path):
    assert "../shared" not in path.read_text()
