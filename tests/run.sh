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

# A folder at a time: their helper modules share names. As many tests at once as there are cores;
# tests that share what is costly to make (a file's, and in tests/truth a program's) run in one
# process.
workers=
/usr/bin/python3 -c 'import xdist' 2>/dev/null && workers="-n $(nproc)"
pytest_status=0
for folder in cli truth browser symbols riscv native python; do
    [ -n "$(find "tests/$folder" -maxdepth 2 -name 'test_*.py' 2>/dev/null)" ] || continue
    distribution=loadfile
    [ "$folder" = truth ] && distribution=loadgroup
    /usr/bin/python3 -m pytest -c tests/pytest.ini -q -p no:cacheprovider -m "$marks" \
        ${workers:+$workers --dist $distribution} --junitxml="$results/pytest-$folder.xml" \
        "tests/$folder" "$@"
    status=$?
    # 5: nothing here that the options ask for
    [ $status = 5 ] || [ $status -le $pytest_status ] || pytest_status=$status
done
exec /usr/bin/python3 tests/count.py "$results" "$pytest_status"
