#!/bin/sh
# Installs what the build and the tests need and this machine lacks. Does nothing, fast, when
# nothing is missing. sudo is used only when not root.
set -e
packages="gcc g++ make meson ninja-build pkg-config valgrind binutils libdw-dev libelf-dev
libiberty-dev libzstd-dev libxxhash-dev zlib1g-dev libcmocka-dev python3 python3-pytest git
bzip2 dwz sqlite3 perl golang-go nodejs"
missing=
for package in $packages; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
echo "trueflame: installing:$missing" >&2
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
