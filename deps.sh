#!/bin/sh
# deps.sh [test | test-all]: installs what the build needs, or with `test` what `make test` needs too,
# with `test-all` the programs of `make test-all` as well, and this machine lacks. Does nothing, fast,
# when nothing is missing. sudo is used only when not root.
set -e

# the build, and the unit tests that are built with it
packages="gcc g++ make meson ninja-build pkg-config git python3 libcmocka-dev libzydis-dev"
# the reference engine
packages="$packages valgrind"
# names, the profile file
packages="$packages binutils libdw-dev libelf-dev libiberty-dev libzstd-dev libxxhash-dev zlib1g-dev libdeflate-dev"
# the RISC-V engine
packages="$packages libsecp256k1-dev"
# the trampoline extension
packages="$packages python3-dev"

tests=
case "$1" in test | test-all) tests=yes ;; esac

if [ "$tests" ]; then
    packages="$packages python3-pytest python3-pytest-xdist clang libclang-rt-14-dev"
    # programs to profile, and readers of what we export
    packages="$packages bzip2 sqlite3 perl dwz llvm golang-go linux-perf time"
    packages="$packages python3-greenlet python3-gevent"
    # guests
    packages="$packages gcc-riscv64-linux-gnu g++-riscv64-linux-gnu libc6-dev-riscv64-cross qemu-user"
    packages="$packages gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf"
    # the viewer, in a real browser
    packages="$packages nodejs chromium fonts-dejavu-core"
fi
if [ "$1" = test-all ]; then
    # real programs under the native engine
    packages="$packages ruby lua5.4 luajit php-cli gawk openssl xz-utils zstd vim-tiny busybox-static"
    packages="$packages default-jdk-headless gdb ffmpeg imagemagick jq bc"
    packages="$packages redis-server nginx-light postgresql curl"
fi

missing=
for package in $packages; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
# npm comes with some builds of nodejs, and its package would be in their way.
[ -z "$tests" ] || command -v npm >/dev/null || missing="$missing npm"
if [ -n "$missing" ]; then
    echo "trueflame: installing:$missing" >&2
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get update -qq
    $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
[ "$tests" ] || exit 0

# For the tests of the viewer only; without them those tests are skipped, and say so.
cd "$(dirname "$0")/tests/browser"
[ -d node_modules/playwright-core ] || npm ci --silent >/dev/null 2>&1 ||
    echo "trueflame: npm ci failed in tests/browser: the viewer's tests will be skipped" >&2
