import sys
import os

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import support  # noqa: E402


@pytest.fixture(scope="session")
def program_flame(tmp_path_factory):
    """One recording of support.PROGRAM for all tests that only read it."""
    return support.recorded(tmp_path_factory.mktemp("program"))
