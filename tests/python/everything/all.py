"""Runs main() of every file beside this one: descriptors and metaclasses, context managers,
coroutines, generators that are thrown into and closed, weak references and __del__, callbacks from C,
classes that are made by libraries. See test_everything.py."""
import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
PARTS = [importlib.import_module(name[:-3]) for name in sorted(os.listdir(HERE))
         if name.endswith(".py") and name != "all.py"]


def main():
    for part in PARTS:
        part.main()


if __name__ == "__main__":
    main()
