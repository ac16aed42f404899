#!/bin/sh
# Records the three examples and writes a page of each to build/demo: a C++ program, a Python
# program, and the difference of two builds. `make demo` runs it; open the pages in a browser.
set -e
cd "$(dirname "$0")/.."
examples=$PWD/examples
build=${TRUEFLAME_BUILD:-$PWD/build}
mkdir -p "$build/demo"
cd "$build/demo"
trueflame() { "$build/trueflame" "$@"; }

echo "== a C++ program"
cp "$examples/cpp/index.cpp" "$examples/python/life.py" "$examples/diff/primes.c" .
here="-ffile-prefix-map=$PWD=." # so that pages name the sources as this folder does
g++ -O2 -g "$here" -o index index.cpp -lz
trueflame record -o index.flame -- ./index
trueflame view index.flame --embed-source --open=no

echo "== a Python program"
trueflame record -o life.flame -- /usr/bin/python3 life.py
trueflame view life.flame --embed-source --open=no

echo "== the difference of two builds"
gcc -O2 -g "$here" -o primes primes.c
trueflame record -o before.flame -- ./primes
gcc -O2 -g -DSIEVE "$here" -o primes primes.c
trueflame record -o after.flame -- ./primes
trueflame diff before.flame after.flame -f html -o primes.html

echo "== where the C++ program's instructions went"
trueflame report index.flame --limit=15
echo "== pages to open in a browser"
ls "$PWD"/*.html
