"""`river-amf evaluate --live`: what a terminal shows of a run, and what is left of it."""

import contextlib
import io
import itertools
import os
import re
import select
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyte
import pytest

from river_amf import cli
from river_amf.cli import live
from river_amf.cli.screen import Console, Screen, resampled
from river_amf.dummy import OnlineDummyClassifier

fcntl = pytest.importorskip("fcntl", reason="terminals of Unix")
pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")

ENTERED, LEFT = "\x1b[?1049h", "\x1b[?1049l"
HIDDEN, SHOWN = "\x1b[?25l", "\x1b[?25h"
HOME = "\x1b[H"
DUMMY = ["evaluate", "--model", "dummy", "--limit", "60"]
STAGGER = ["evaluate", "stagger_abrupt", "--limit", "60", "--seed", "1"]


class Terminal(io.StringIO):
    """A standard output that is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Return a terminal of 80 columns and 24 lines, on which each sample is a frame."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}.items():
        monkeypatch.setenv(name, value)
    for name in ("_PERIOD", "_LONGEST_PERIOD"):
        monkeypatch.setattr(live, name, 0.0)
    return Terminal()


def run(terminal, *arguments):
    """Run the command with its output on a terminal, and return its status."""
    with contextlib.redirect_stdout(terminal):
        return cli.main([*arguments])


def frames(output, width=80, height=24):
    """Return the lines of each frame that was drawn on the other screen."""
    drawn = re.findall(f"{re.escape(ENTERED)}(.*?){re.escape(LEFT)}", output, re.S)
    screens = []
    for frame in itertools.chain.from_iterable(part.split(HOME)[2:] for part in drawn):
        screen = pyte.Screen(width, height)
        pyte.Stream(screen).feed(frame.replace("\n", "\r\n"))
        screens.append([line.rstrip() for line in screen.display])
    return screens


def after(output):
    """Return the lines that are left on the terminal, without colors."""
    assert output.count(ENTERED) == output.count(LEFT)
    assert output.rindex(SHOWN) > output.rindex(HIDDEN)
    left = output.rpartition(LEFT)[2]
    return re.sub(r"\x1b\[[\d;?]*[a-z]", "", left).splitlines()


def table(lines):
    """Return the lines of the table, without times and sizes."""
    start = next(k for k, line in enumerate(lines) if line.split()[:1] == ["samples"])
    return [line.split()[:3] for line in lines[start:]]


def lines_of(screen, width=60, height=30, **options):
    file = io.StringIO()
    console = Console(file=file, width=width, height=height, color_system=None, **options)
    console.print(screen)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def made(n_windows=40, **fields):
    """Return the screen of a run that has come half of its way."""
    accuracies = np.linspace(0.5, 1.0, n_windows)
    given = {
        "title": "toy",
        "n_total": 200 * n_windows,
        "measure": "accuracy",
        "n_samples": 100 * n_windows,
        "rate": 50.0 * n_windows,
        "metrics": {"accuracy": 0.75, "log-loss": 0.5, "F1": np.nan},
        "windows": [(100 * (k + 1), value) for k, value in enumerate(accuracies)],
        "relevance": pd.Series({"small": 0.1, ("odd", 1): 0.4, "none": 0.0}),
    }
    return Screen(**{**given, **fields})


# A run on a terminal


@pytest.mark.slow
def test_the_terminal_shows_the_run_and_the_table_is_that_of_a_run_without(terminal, capsys):
    assert run(terminal, *STAGGER, "--model", "adaptive", "--live") == 0
    output = terminal.getvalue()
    shown = frames(output)
    assert len(shown) == 60
    assert shown[0][:2] == ["stagger_abrupt   0 of 60 samples", "0%"]
    assert re.fullmatch(
        r"stagger_abrupt   59 of 60 samples   [\d,]+ a second   0:00:0\d left", shown[-1][0]
    )
    assert re.fullmatch("98% █+[▉-▏]?", shown[-1][1])
    text = "\n".join(shown[-1])
    assert re.search(r"accuracy 0\.\d{4}   log-loss 0\.\d{4}   fading share 0\.\d\d", text)
    assert "accuracy along the stream" in text
    for feature in ("size", "color", "shape"):
        assert re.search(rf"^{feature} .* [01]\.\d\d\d$", text, re.M)
    left = after(output)
    assert left[0].startswith("stagger_abrupt   60 of 60 samples")
    assert "left" not in left[0]
    terminal.seek(0)
    terminal.truncate()
    assert run(terminal, *STAGGER, "--model", "adaptive") == 0
    plain = terminal.getvalue().splitlines()
    assert table(left) == table(plain)
    assert output.splitlines()[0] == plain[0]
    assert ENTERED not in terminal.getvalue()


@pytest.mark.slow
def test_colors_are_left_out_if_nobody_wants_them(terminal, monkeypatch):
    colors = re.compile(r"\x1b\[[\d;]*(3[0-8]|38;5;\d+)m")
    assert run(terminal, *DUMMY, "--live") == 0
    assert colors.search(terminal.getvalue())
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.truncate(0)
    assert run(terminal, *DUMMY, "--live") == 0
    assert ENTERED in terminal.getvalue()
    assert not colors.search(terminal.getvalue())


@pytest.mark.slow
def test_numbers_have_the_curve_of_their_error(terminal):
    arguments = ["evaluate", "TrumpApproval", "--model", "mean", "--limit", "60", "--live"]
    assert run(terminal, *arguments) == 0
    last = frames(terminal.getvalue())[-1]
    assert "MAE along the stream" in last
    assert any(line.startswith("MAE ") and "RMSE" in line for line in last)
    assert "relevance" not in last


@pytest.mark.slow
def test_each_stream_of_a_track_has_its_frames(terminal):
    arguments = ["--track", "recurring", "--model", "dummy", "--limit", "20", "--live"]
    assert run(terminal, "evaluate", *arguments) == 0
    output = terminal.getvalue()
    assert [frame[0].split()[0] for frame in frames(output)[::20]] == [
        "sea_recurring",
        "stagger_recurring",
    ]
    assert after(output)[-1].split()[0] == "mean"


@pytest.mark.slow
def test_drift_that_is_known_and_trees_that_start_afresh_are_marked(terminal, monkeypatch):
    monkeypatch.setattr(live, "_PERIOD", 9.0)
    monkeypatch.setattr(live, "_LONGEST_PERIOD", 9.0)
    arguments = ["evaluate", "stagger_abrupt", "--limit", "8000", "--seed", "1", "--live"]
    assert run(terminal, *arguments, "--model", "adaptive") == 0
    left = after(terminal.getvalue())
    (drift,) = (line for line in left if line.startswith("drift "))
    (restart,) = (line for line in left if line.startswith("restart "))
    n_columns = 80 - len("restart ")
    place = len("restart ") + 5000 * n_columns // 8000
    assert drift.index("^") == place and drift.count("^") == 1
    assert place <= restart.index("^") <= place + 3
    assert any(re.search(r" restarts [1-5]$", line) for line in left)


# What is no terminal, or lacks rich


@pytest.mark.parametrize("term", ["dumb", "unknown", None])
def test_lines_are_printed_where_they_cannot_be_drawn_over(term, terminal, monkeypatch, capsys):
    if term is None:
        terminal = io.StringIO()
    else:
        monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setitem(sys.modules, "river_amf.cli.live", None)  # it is not even asked for
    assert run(terminal, *DUMMY, "--live") == 0
    output = terminal.getvalue()
    assert "\x1b" not in output
    assert [line.split()[0] for line in output.splitlines()] == [
        *("Bananas:", "samples", "5", "10", "15", "20", "25", "30", "35", "40", "45"),
        *("50", "55", "60"),
    ]


def test_without_rich_the_error_says_how_to_install_it(terminal, monkeypatch, capsys):
    for name in [*sys.modules]:
        if name in ("river_amf.cli.live", "river_amf.cli.screen") or name.startswith("rich."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(SystemExit) as raised:
        run(terminal, "evaluate", "-", "--live")  # which is not read
    assert raised.value.code == 2
    hint = '--live needs rich (the extra live): pip install "rich>=13"'
    assert capsys.readouterr().err == f"river-amf: error: {hint}\n"
    assert ENTERED not in terminal.getvalue()


# What ends or interrupts a run


def at_sample(monkeypatch, n, action):
    """Let the model do something when it has learned n samples of the run, after the warm-up."""
    learn, calls = OnlineDummyClassifier.learn_one, []

    def learn_and_act(self, x, y, w=1.0):
        learn(self, x, y, w)
        calls.append(y)
        if len(calls) == 60 + n:
            action()

    monkeypatch.setattr(OnlineDummyClassifier, "learn_one", learn_and_act)


@pytest.fixture
def handlers():
    """Check that all handlers of signals are afterwards what they were before."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGTSTP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    assert [signal.getsignal(number) for number in numbers] == before


def test_ctrl_c_leaves_the_table_so_far(terminal, handlers, monkeypatch, capsys):
    at_sample(monkeypatch, 23, lambda: signal.raise_signal(signal.SIGINT))
    assert run(terminal, *DUMMY, "--live") == 130
    left = after(terminal.getvalue())
    assert left[0].startswith("Bananas   23 of 60 samples")
    assert [cells[0] for cells in table(left)] == ["samples", "5", "10", "15", "20", "23"]
    assert capsys.readouterr().err == "interrupted after 23 samples\n"


def test_a_second_ctrl_c_within_a_sample_leaves_the_terminal_as_well(
    terminal, handlers, monkeypatch, capsys
):
    def interrupt():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    at_sample(monkeypatch, 12, interrupt)
    assert run(terminal, *DUMMY, "--live") == 130
    assert [cells[0] for cells in table(after(terminal.getvalue()))] == ["samples", "5", "10"]
    assert capsys.readouterr().err == "interrupted\n"


def test_a_model_that_fails_leaves_the_terminal(terminal, handlers, monkeypatch, capsys):
    def fail():
        raise ValueError("no more")

    at_sample(monkeypatch, 12, fail)
    with pytest.raises(SystemExit):
        run(terminal, *DUMMY, "--live")
    assert [cells[0] for cells in table(after(terminal.getvalue()))] == ["samples", "5", "10"]
    assert capsys.readouterr().err == "river-amf: error: sample 12: no more\n"


def test_messages_are_told_once_the_terminal_is_back(terminal, handlers, monkeypatch, capsys):
    seen = []

    def warn():
        print("look out", file=sys.stderr)
        seen.append(capsys.readouterr().err)

    at_sample(monkeypatch, 12, warn)
    assert run(terminal, *DUMMY, "--live") == 0
    assert seen == [""]
    assert capsys.readouterr().err == "look out\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGTSTP])
def test_a_signal_finds_the_terminal_as_it_was(number, terminal, monkeypatch):
    states = []

    def handle(number, frame):
        output = terminal.getvalue()
        states.append(output.count(ENTERED) - output.count(LEFT))

    before = signal.signal(number, handle)
    try:
        at_sample(monkeypatch, 12, lambda: signal.raise_signal(number))
        at_sample(monkeypatch, 30, lambda: signal.raise_signal(number))
        assert run(terminal, *DUMMY, "--live") == 0
        assert signal.getsignal(number) is handle
    finally:
        signal.signal(number, before)
    assert states == [0, 0]
    output = terminal.getvalue()
    assert output.count(ENTERED) == 3  # it goes on twice
    assert [cells[0] for cells in table(after(output))][-1] == "60"


# A frame


def test_a_frame_has_the_curve_of_the_windows_over_the_whole_stream():
    lines = lines_of(made())
    start = lines.index("accuracy along the stream")
    curve = [line[len("1.0000 ") :] for line in lines[start + 1 : start + 9]]
    assert lines[start + 1].startswith("1.0000 ") and lines[start + 8].startswith("0.50")
    columns = [
        "".join(column).strip() for column in np.array([list(f"{row:53}") for row in curve]).T
    ]
    assert len(columns) == 53
    assert all(columns[:27]) and not any(columns[27:])  # half of the stream
    heights = [8 * len(column) - 8 + " ▁▂▃▄▅▆▇█".index(column[0]) for column in columns[:27]]
    assert heights == sorted(heights)
    assert (heights[0], heights[-1]) == (1, 64)
    assert lines[start + 9] == f"{'8,000':>60}"


def test_a_frame_has_the_features_by_their_relevance():
    lines = lines_of(made())
    start = lines.index("relevance")
    names = [re.split(r" +[█▉-▏ ]* *(?=\d\.)", line)[0] for line in lines[start + 1 :]]
    assert names == ["('odd', 1)", "small", "none"]
    n_full = [line.count("█") for line in lines[start + 1 :]]
    assert n_full[2] == 0 and n_full[1] == pytest.approx(n_full[0] / 4, abs=1)
    assert [line.split()[-1] for line in lines[start + 1 :]] == ["0.400", "0.100", "0.000"]


def test_what_is_unknown_is_left_out():
    lines = lines_of(made(relevance=None, rate=np.nan, windows=[], restarts=[]))
    assert lines[0] == "toy   4,000 of 8,000 samples"
    assert lines[2] == "accuracy 0.7500   log-loss 0.5000"
    assert "relevance" not in lines
    assert not any("restart" in line or "drift" in line for line in lines)


def test_a_constant_curve_is_drawn():
    lines = lines_of(made(windows=[(4000, 1.0)]))
    assert sum(line.count("█") for line in lines) >= 8 * 26


@pytest.mark.parametrize("width", [10, 20, 40, 79, 200])
@pytest.mark.parametrize("height", [1, 5, 12, 24, 60])
@pytest.mark.parametrize("n_features", [0, 3, 50])
def test_a_frame_fits_into_the_terminal(width, height, n_features):
    relevance = pd.Series({f"feature {k} of many": k / 100 for k in range(n_features)})
    relevance = relevance if n_features else None
    screen = made(
        title="a-file-with-a-long-name.csv.gz",
        relevance=relevance,
        drifts=[100, 4000, 7000],
        restarts=[500, 600],
        fading_share=0.5,
    )
    lines = lines_of(screen, width, height)
    assert max(map(len, lines)) <= min(width, 100)
    if height >= 12 and width >= 40:
        assert len(lines) <= height
        assert (n_features > 0 and height >= 24) <= ("relevance" in lines)
    assert any("█" in line for line in lines)


def test_marks_are_below_the_samples_they_belong_to():
    lines = lines_of(made(drifts=[0, 2000, 4001], restarts=[4000, 8000]), width=60)
    (drift,) = (line for line in lines if line.startswith("drift"))
    (restart,) = (line for line in lines if line.startswith("restart"))
    assert [k for k, mark in enumerate(drift[8:]) if mark == "^"] == [0, 13]
    assert [k for k, mark in enumerate(restart[8:]) if mark == "^"] == [25, 51]


def test_a_terminal_without_blocks_gets_letters_of_ascii():
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Console(file=file, width=60, height=30).print(made())
    file.flush()
    text = file.buffer.getvalue().decode("ascii")
    assert "#####" in text and "-----" in text


def test_windows_are_spread_over_the_columns():
    windows = [(10, 0.0), (20, 1.0), (30, np.nan), (40, 0.5)]
    assert resampled(windows, 40, 4) == pytest.approx([0.0, 1.0, np.nan, 0.5], nan_ok=True)
    assert resampled(windows, 40, 2) == pytest.approx([0.5, 0.5])
    halves = [0.0, 0.0, 1.0, 1.0, np.nan, np.nan, 0.5, 0.5]
    assert resampled(windows, 40, 8) == pytest.approx(halves, nan_ok=True)
    assert np.isnan(resampled([], 40, 4)).all()
    assert resampled([(10, np.inf), (40, 1.0)], 40, 4) == pytest.approx(
        [np.nan, 1, 1, 1], nan_ok=True
    )


def test_the_range_is_that_of_the_columns():
    windows = [(k + 1, float(k % 2)) for k in range(100)]
    lines = lines_of(made(windows=windows, n_total=100, n_samples=100), width=57)
    start = lines.index("accuracy along the stream")
    assert lines[start + 1].startswith("0.5000") and lines[start + 8].startswith("0.5000")


def test_an_infinite_error_leaves_a_gap():
    windows = [(100, np.inf), (200, 5.0), (300, 4.0)]
    lines = lines_of(made(windows=windows, n_total=400, measure="MAE", metrics={"MAE": np.inf}))
    start = lines.index("MAE along the stream")
    assert lines[start + 1].startswith("5 ") and lines[start + 8].startswith("4 ")


# The command on a terminal of its own


class Process:
    """The command on a pseudo-terminal, whose screen a library of terminals follows."""

    def __init__(self, *arguments, size=(80, 24)):
        self._master, slave = pty.openpty()
        self.screen = pyte.HistoryScreen(*size, history=10000)
        self._stream = pyte.ByteStream(self.screen)
        self.resize(*size)
        self.output = b""
        self.before = termios.tcgetattr(slave)
        environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "river_amf", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment | {"TERM": "xterm-256color"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.slave = slave

    def resize(self, columns, lines):
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def read(self, until, seconds=120.0):
        """Read until the screen shows it, or raise."""
        end = time.monotonic() + seconds
        while not until(self):
            assert time.monotonic() < end, "\n".join(self.screen.display)
            if select.select([self._master], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):  # the end
                    data = os.read(self._master, 65536)
                    self.output += data
                    self._stream.feed(data)

    def press(self, key):
        os.write(self._master, key)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._master)
        os.close(self.slave)


@pytest.fixture
def on_terminal():
    """Return a function that starts the command on a terminal of its own."""
    processes = []

    def start(*arguments, **options):
        processes.append(Process(*arguments, **options))
        return processes[-1]

    yield start
    for process in processes:
        process.close()


@pytest.fixture(scope="module")
def long_stream(tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "long.csv"
    numbers = np.random.default_rng(1).random((300_000, 2))
    frame = pd.DataFrame(numbers, columns=["a", "b"])
    frame.assign(target=frame["a"] > 0.5).to_csv(path, index=False)
    return str(path)


def shows(*texts):
    """Return a condition: the screen shows all texts."""
    return lambda process: all(text in "\n".join(process.screen.display) for text in texts)


def is_whole(process):
    """Whether the screen shows one frame from its first line on."""
    shown = [line.rstrip() for line in process.screen.display]
    return (
        shown[0].startswith("long.csv")
        and sum("along the stream" in line for line in shown) == 1
        and any("█" in line or "▏" in line for line in shown)
    )


# It passes on a core of its own; on busy ones the run may end before the screen has been read.
@pytest.mark.soak
def test_the_window_changes_its_size_and_ctrl_c_leaves_a_sane_terminal(on_terminal, long_stream):
    process = on_terminal("evaluate", long_stream, "--model", "adaptive", "--live")
    process.read(shows("a second", "accuracy along the stream"))
    assert process.screen.display[0].startswith("long.csv   ")
    for columns, lines in [(40, 12), (120, 40), (30, 8)]:
        process.resize(columns, lines)
        n_before = len(process.output)
        process.read(lambda process, n=n_before: process.output[n:].count(HOME.encode()) >= 3)
        # Frames of the size before may still have been on their way, and left their rests.
        process.read(is_whole)
    process.press(b"\x03")
    process.read(lambda process: process.process.poll() is not None)
    process.read(lambda process: b"interrupted after" in process.output)
    assert process.process.returncode == 130
    output = process.output.decode()
    last = output.replace("\r\n", "\n").rstrip("\n").splitlines()[-1]
    n_samples = re.fullmatch(r"interrupted after (\d+) samples", last)[1]
    assert table(after(output.replace("\r\n", "\n")))[-2][0] == n_samples
    assert termios.tcgetattr(process.slave) == process.before


@pytest.mark.slow
def test_a_process_that_is_ended_leaves_the_terminal(on_terminal, long_stream):
    process = on_terminal("evaluate", long_stream, "--model", "adaptive", "--live")
    process.read(shows("a second"))
    process.process.terminate()
    process.read(lambda process: process.process.poll() is not None)
    process.read(lambda process: process.output.endswith(LEFT.encode()), seconds=5.0)
    assert process.process.returncode == -signal.SIGTERM
    after(process.output.decode())
