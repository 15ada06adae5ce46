#!/usr/bin/env bash
# The checks of the browser side: types, unit tests, whether dist/ is what the sources build, and the pages in a browser
# (made by `cargo test -p fathom-report` before). Installs exactly what the lock file names. Says what it skips, and why.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
    printf '\nskipped: %s: %s\n' "$1" "$2" >&2
}

# The oldest Node that the tools of the lock file run on.
oldest=18
major=$(node --version 2>/dev/null | sed 's/^v\([0-9]*\).*/\1/')
if [ -z "$major" ] || ! command -v npm >/dev/null; then
    skip "all checks of web/" "there is no node with npm; install nodejs and npm, $oldest or newer"
    exit 0
fi
if [ "$major" -lt "$oldest" ]; then
    skip "all checks of web/" "node $major is too old; they need $oldest or newer"
    exit 0
fi

# What was installed by this very lock file need not be again.
stamp=node_modules/.installed-from
if ! cmp -s package-lock.json "$stamp"; then
    npm ci --no-audit --no-fund
    cp package-lock.json "$stamp"
fi

npm run --silent check
npm run --silent unit

fresh=$(mktemp -d)
trap 'rm -rf -- "$fresh"' EXIT
npm run --silent build -- "$fresh"
diff -r dist "$fresh" || {
    echo "web/dist is not what web/src builds; run: cd web && npm ci && npm run build" >&2
    exit 1
}
echo "web/dist is what the sources build, byte for byte"

# What a browser loads for the pages, as servers compress it: over a slow line (10 Mbit/s) 300 kB take a quarter of a second.
most=300000
bytes=0
for file in dist/index.html dist/assets/*; do
    bytes=$((bytes + $(gzip -9 --stdout "$file" | wc -c)))
done
if [ "$bytes" -gt "$most" ]; then
    echo "the pages have $bytes bytes compressed, more than $most" >&2
    exit 1
fi
echo "the pages have $bytes bytes compressed, at most $most are wanted"

if ! command -v chromium chromium-browser google-chrome >/dev/null; then
    skip "the pages in a browser" "there is no Chromium; install the package chromium"
    exit 0
fi
npm run --silent browser
