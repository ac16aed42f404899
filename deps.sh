#!/bin/sh
# Installs what the build and the tests need and this machine lacks. Does nothing, fast, when
# nothing is missing. sudo is used only when not root.
set -e
packages="gcc g++ make meson ninja-build pkg-config valgrind binutils libdw-dev libelf-dev
libiberty-dev libzstd-dev libxxhash-dev zlib1g-dev libcmocka-dev python3 python3-pytest git
bzip2 sqlite3 perl golang-go nodejs chromium"
missing=
for package in $packages; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
# npm comes with some builds of nodejs, and its package would be in their way.
command -v npm >/dev/null || missing="$missing npm"
if [ -n "$missing" ]; then
    echo "trueflame: installing:$missing" >&2
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get update -qq
    $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

# For the tests of the viewer only; without them those tests are skipped, and say so.
cd "$(dirname "$0")/tests/browser"
[ -d node_modules/playwright-core ] || npm ci --silent >/dev/null 2>&1 ||
    echo "trueflame: npm ci failed in tests/browser: the viewer's tests will be skipped" >&2
