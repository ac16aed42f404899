import pytest

import support


@pytest.fixture(scope="session")
def program_flame(tmp_path_factory):
    """One recording of support.PROGRAM for all tests that only read it."""
    return support.recorded(tmp_path_factory.mktemp("program"))
