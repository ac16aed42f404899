"""For all tests: programs see the same environment in each.

pytest tells the running test in a variable. Its length moves the stack of every program that is
started, and libc's string functions take another path for another alignment: a recording made in
one test would differ from one made in another by a few instructions.
"""

import os

import pytest


def same_environment():
    os.environ["PYTEST_CURRENT_TEST"] = "-"


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup():
    same_environment()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call():
    same_environment()
