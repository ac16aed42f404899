#!/bin/sh
# The README's pictures are screenshots that the tests took (tests/browser/examples.test.mjs) of the
# pages of `make demo`. Run this after `make test` when the page's looks have changed.
set -e
cd "$(dirname "$0")"
shots=${TRUEFLAME_BUILD:-../../build}/screenshots
for name in cpp source diff; do
    cp "$shots/example-$name.png" "$name.png"
done
