#!/usr/bin/env bash
# Builds what is not in the source: the addon and libdeemster in prebuilds/, for the platform it runs on, and the package's
# JavaScript as one file in dist/ (`npm run build:native`).
# DEEMSTER_LIBRARY names a libdeemster.so that is built already; DEEMSTER_BUILD a build folder to use (default build-node);
# DEEMSTER_NODE_CMAKE_ARGS is added to the CMake configuration.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
root=$(cd "$here/../.." && pwd)
build=${DEEMSTER_BUILD:-$root/build-node}
target=$here/prebuilds/linux-$(node -p 'process.arch')-glibc

swig=$root/.venv-swig
if ! cmp -s "$here/swig-requirements.txt" "$swig/requirements.txt"; then
    python3 -m venv "$swig"
    "$swig/bin/pip" install --quiet --disable-pip-version-check -r "$here/swig-requirements.txt"
    cp "$here/swig-requirements.txt" "$swig/requirements.txt"
fi
if ! cmp -s "$here/package-lock.json" "$here/node_modules/.deemster-lock"; then
    (cd "$here" && npm ci --ignore-scripts --no-audit --no-fund --silent)
    cp "$here/package-lock.json" "$here/node_modules/.deemster-lock"
fi
library=${DEEMSTER_LIBRARY:-}
if [ -z "$library" ]; then
    if [ ! -f "$build/CMakeCache.txt" ]; then
        cmake -S "$root" -B "$build" -GNinja -DDEEMSTER_TESTS=OFF -DDEEMSTER_BENCH=OFF
    fi
    cmake --build "$build" --target deemster -j 2
    library=$build/abi/libdeemster.so
fi
# shellcheck disable=SC2086  # several arguments in one variable
cmake -S "$here" -B "$build/node" -GNinja -DDEEMSTER_LIBRARY="$library" -DSWIG="$swig/bin/swig" ${DEEMSTER_NODE_CMAKE_ARGS:-} >/dev/null
cmake --build "$build/node" -j 2
mkdir -p "$target"
rm -f "$target/libdeemster-curl.so.4" # of a release: here the system's libcurl is used
install_stripped() { # a running program that has the old file open keeps it
    cp -L "$1" "$2.new"
    strip --strip-unneeded "$2.new"
    mv -f "$2.new" "$2"
}
install_stripped "$library" "$target/libdeemster.so.0.1"
install_stripped "$build/node/deemster.node" "$target/deemster.node"
# One file loads in a third of the time of many.
"$here/node_modules/.bin/esbuild" "$here/lib/index.js" --bundle --platform=node --format=cjs --target=node20 \
    --outfile="$here/dist/index.cjs" --log-level=warning
echo "built $target"
