#!/bin/sh
# Builds everything outside the valgrind tool with the address and undefined-behaviour sanitizers
# and runs all tests on it. Arguments go to tests/run.sh.
set -e
cd "$(dirname "$0")/.."
build=build-asan
[ -e $build/build.ninja ] || meson setup $build -Db_sanitize=address,undefined -Db_lundef=false \
    >/dev/null
ninja -C $build >/dev/null
export TRUEFLAME_BUILD="$PWD/$build"
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
exec tests/run.sh "$@"
