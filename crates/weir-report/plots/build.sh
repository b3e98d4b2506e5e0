#!/usr/bin/env bash
# Builds ../src/html/plot.js from the locked packages: Observable Plot and the parts of d3 that it
# needs, in one file, with their licences. With --check it compares instead. Needs Node.js and npm.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
target=../src/html/plot.js
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
built=$(mktemp)
trap 'rm -f "$built"' EXIT
{
    echo '/*!'
    echo ' * Observable Plot and the packages that it needs, bundled by esbuild.'
    for package in @observablehq/plot d3 interval-tree-1d isoformat binary-search-bounds; do
        licence=node_modules/$package/LICENSE
        echo " *"
        echo " * ${licence#node_modules/}"
        sed 's/^/ * /; s/ *$//; s/\r//' "$licence"
    done
    echo ' */'
    node_modules/.bin/esbuild entry.js --bundle --minify --format=iife --global-name=Plot \
        --target=es2020 --legal-comments=none --log-level=error
} >"$built"
if [ "${1:-}" = --check ]; then
    cmp "$built" "$target"
else
    install -m 644 "$built" "$target"
fi
