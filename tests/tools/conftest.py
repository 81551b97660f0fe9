import pytest

from river_amf import cli


@pytest.fixture
def run(capsys):
    """Return a function that runs the command: its status, output, and the lines on stderr."""

    def run_command(*arguments):
        try:
            status = cli.main([*map(str, arguments)])
        except SystemExit as error:
            status = error.code
        output, error = capsys.readouterr()
        assert "Traceback" not in error
        return status, output, error.splitlines()

    return run_command
