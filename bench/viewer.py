#!/usr/bin/env python3
"""The viewer on a profile of a million contexts: size of the page, first picture, zoom, search.

Fails (status 1) when a limit is passed: 30 MB, 2 s, 100 ms. The contexts go through the program
(import, view) as anybody's would; the page is opened in headless Chromium.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("TRUEFLAME_BUILD", ROOT / "build"))
CONTEXTS = 1_000_000
FUNCTIONS = 20_000
LIMITS = {"page_megabytes": 30, "first_picture": 2000, "zoom": 100, "search": 100,
          "regular_expression": 100}


def write_folded(path, contexts=CONTEXTS, functions=FUNCTIONS):
    """A random tree with a few wide and many narrow frames, one line a context."""
    chance = random.Random(1)
    used = {}
    names = ["main"]
    written = 0
    with open(path, "w", encoding="ascii") as file:
        while written < contexts:
            if len(names) > 40 or (len(names) > 1 and chance.random() < 0.3):
                del names[chance.randrange(1, len(names)):]
            number = int(functions * chance.random() ** 3)
            names.append(f"part{number % 97}::method_{number}")
            key = hash(tuple(names))
            if key in used:
                continue
            used[key] = True
            file.write(f"{';'.join(names)} {int(chance.paretovariate(0.7)) % 10 ** 9}\n")
            written += 1


def make_page(folder):
    folded, flame, page = (folder / f"million.{kind}" for kind in ("folded", "flame", "html"))
    write_folded(folded)
    subprocess.run([BUILD / "trueflame", "import", "-f", "folded", folded, "-o", flame], check=True)
    folded.unlink()
    start = time.monotonic()
    subprocess.run([BUILD / "trueflame", "view", flame, "--open=no", "-o", page], check=True)
    print(f"view wrote the page in {time.monotonic() - start:.1f} s")
    info = json.loads(subprocess.check_output([BUILD / "trueflame", "info", flame, "--json"]))
    print(f"contexts: {info['contexts']:,}")
    return page


def main():
    if not (ROOT / "tests/browser/node_modules/playwright-core").is_dir():
        print("viewer: skipped: no browser to measure in; ./deps.sh test installs it")
        return 0
    folder = BUILD / "bench"
    folder.mkdir(exist_ok=True)
    page = make_page(folder)
    output = subprocess.check_output(["node", "bench.mjs", page], cwd=ROOT / "tests/browser")
    measured = json.loads(output)
    measured["page_megabytes"] = {"best": round(page.stat().st_size / 1e6, 1)}
    failed = False
    for name, limit in LIMITS.items():
        best = measured[name]["best"]
        median = measured[name].get("median", best)
        failed |= median > limit
        unit = "MB" if name == "page_megabytes" else "ms"
        print(f"{name.replace('_', ' '):20} {best:>8} {unit} (median {median}; limit {limit})"
              f"{'  TOO MUCH' if median > limit else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
