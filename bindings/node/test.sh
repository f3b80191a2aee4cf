#!/usr/bin/env bash
# Builds the addon and runs the tests; arguments are test files (default: all).
# DEEMSTER_BUILD names the CMake build folder (default build/) whose library and mock are used.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=${DEEMSTER_ROOT:-$(cd "$here/../.." && pwd)}
build=${DEEMSTER_BUILD:-$root/build}
export DEEMSTER_ROOT=$root
export DEEMSTER_MOCK=${DEEMSTER_MOCK:-$build/bin/deemster-mock}
DEEMSTER_LIBRARY=${DEEMSTER_LIBRARY:-$build/abi/libdeemster.so} DEEMSTER_BUILD=$build bash "$here/scripts/build-native.sh"
cd "$here"
tests=("${@:-test/*.test.mjs}")
# shellcheck disable=SC2068  # the pattern is to be expanded
node --test --test-timeout=300000 ${tests[@]}
if [ $# -eq 0 ]; then
    echo "the same with the thread driver, which other runtimes use"
    DEEMSTER_NODE_DRIVER=thread node --test --test-timeout=300000 test/{conformance,client,errors,signals,lifecycle,many}.test.mjs
fi
