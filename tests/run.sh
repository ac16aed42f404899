#!/bin/sh
# Runs every test: meson's (the cmocka programs) and pytest's (tests/cli, tests/truth,
# tests/browser, tests/symbols, what there is of them). `--all` adds those marked slow. The last
# line is `N passed, N failed`; what was skipped is listed with its reason before it.
# Further arguments go to pytest: tests/run.sh -k folded.
cd "$(dirname "$0")/.." || exit 2
build=${TRUEFLAME_BUILD:-$PWD/build}
export TRUEFLAME_BUILD="$build"
results="$build/test-results"
rm -rf "$results" && mkdir -p "$results"

marks='not slow'
if [ "$1" = --all ]; then
    marks='slow or not slow'
    shift
fi

meson test -C "$build" --no-rebuild --print-errorlogs >"$results/meson.txt" 2>&1 ||
    sed -n '/^=\|^not ok\|FAIL\|Fail\|stdout\|stderr/p' "$results/meson.txt" | head -200
cp "$build/meson-logs/testlog.junit.xml" "$results/meson.xml" 2>/dev/null

folders=
for folder in cli truth browser symbols riscv native python; do
    [ -n "$(find "tests/$folder" -maxdepth 2 -name 'test_*.py' 2>/dev/null)" ] &&
        folders="$folders tests/$folder"
done
if [ -n "$folders" ]; then
    /usr/bin/python3 -m pytest -c tests/pytest.ini -q -p no:cacheprovider -m "$marks" \
        --junitxml="$results/pytest.xml" $folders "$@" || pytest_status=$?
fi
exec /usr/bin/python3 tests/count.py "$results" "${pytest_status:-0}"
