"""What tests of files share."""

import pytest


@pytest.fixture
def path(tmp_path):
    """Return where a test may write a file, in a folder of its own."""
    return tmp_path / "model.amf"
