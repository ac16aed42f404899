#!/bin/sh
# Fuzzes the readers, and the recording of Python: tests/fuzz/run.sh [NAME...], all of them without
# names. Each target runs FUZZ_SECONDS (600) from its committed corpus, tests/fuzz/corpus/NAME; a
# finding stops it, is kept in build/fuzz/, and fails the run. A target is one file, fuzz_NAME.c;
# nothing else to declare. `python` is random programs (python_compare.py), from SEED (a new one each
# day) on, with what is built in build/.
set -e
cd "$(dirname "$0")/../.."
command -v clang >/dev/null || { echo "fuzz: skipped, no clang"; exit 0; }
out=build/fuzz
mkdir -p $out
flags="-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -D_GNU_SOURCE -DENGINE_FOLDER=\"\"
-Isrc -Iinclude -I$out"
printf '#define TRUEFLAME_VERSION "fuzz"\n' >$out/config.h
names="$*"
[ "$names" ] || names="$(ls tests/fuzz/fuzz_*.c | sed 's|.*/fuzz_\(.*\)\.c|\1|') python"

# Objects are made again only when something changed.
objects=
newest=$(ls -t src/*/*.h src/engines/riscv/*.h | head -1)
sources="src/common/*.c src/core/*.c src/profile/*.c src/symbols/*.c src/formats/*.c
src/engines/engine.c src/engines/riscv/*.c"
[ "$names" != python ] || sources=
for source in $sources; do
    [ -e "$source" ] || continue
    object=$out/$(echo "$source" | tr / -).o
    objects="$objects $object"
    [ "$object" -nt "$source" ] && [ "$object" -nt "$newest" ] && continue
    # An interpreter's loop is one function of thousands of jumps: checks in it take hours to
    # compile, and what it does is tested elsewhere.
    case $source in
    */dispatch.c) clang -g -O1 -D_GNU_SOURCE -Isrc -c "$source" -o "$object" ;;
    *) clang $flags -fsanitize=fuzzer-no-link -c "$source" -o "$object" ;;
    esac
done
# A library, so that a target gets only what it uses: some files need more than is built here.
rm -f $out/readers.a
ar rcs $out/readers.a $objects
status=0
for name in $names; do
    if [ "$name" = python ]; then
        echo "fuzz: python, ${FUZZ_SECONDS:-600} seconds"
        mkdir -p "$out/python.found"
        FUZZ_SECONDS=${FUZZ_SECONDS:-600} /usr/bin/python3 tests/fuzz/python_compare.py --totals=5 \
            --keep="$out/python.found" "${SEED:-$(date +%y%m%d)00}" >"$out/python.log" 2>&1 || {
            echo "fuzz: python: FAILED, see $out/python.log"
            status=1
        }
        tail -1 "$out/python.log"
        continue
    fi
    clang $flags -fsanitize=fuzzer "tests/fuzz/fuzz_$name.c" $out/readers.a -o "$out/$name" \
        -ldw -lelf -lz -ldeflate -liberty -lzstd -lxxhash -lsecp256k1 -lpthread -ldl -lm
    mkdir -p "$out/$name.found"
    corpus=tests/fuzz/corpus/$name
    [ -d "$corpus" ] || corpus=
    echo "fuzz: $name, ${FUZZ_SECONDS:-600} seconds"
    if ! "$out/$name" -max_total_time="${FUZZ_SECONDS:-600}" -timeout=20 -rss_limit_mb=2048 \
        -max_len=16384 -artifact_prefix="$out/$name-" "$out/$name.found" $corpus \
        >"$out/$name.log" 2>&1; then
        echo "fuzz: $name: FAILED, see $out/$name.log"
        status=1
    fi
    tail -1 "$out/$name.log"
done
exit $status
