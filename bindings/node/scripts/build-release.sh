#!/usr/bin/env bash
# Builds what is published (`npm run build:release`): addon and libdeemster for glibc 2.28 and newer, with a libcurl of their
# own beside them (HTTP/1.1 and TLS by OpenSSL), then the tarball, left in build-wheel/dist, and tries it out over https.
# Compiler, OpenSSL and libcurl are those of the Python wheel, whose script makes them.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
root=$(cd "$here/../.." && pwd)
work=${DEEMSTER_WHEEL_BUILD:-$root/build-wheel}
glibc=2.28
target=$here/prebuilds/linux-$(node -p 'process.arch')-glibc
export PATH=$work/tools:$work/venv/bin:$PATH

native() {
    bash "$root/bindings/python/wheel.sh" openssl
    bash "$root/bindings/python/wheel.sh" curl
    mkdir -p "$work/headers" # apart from the system's other headers, which are not those of the older glibc
    cp -r /usr/include/sha2.h /usr/include/zlib.h /usr/include/uv.h /usr/include/uv "$work/sources/curl/include/curl" "$work/headers"
    cp /usr/include/zconf.h "$work/headers" 2>/dev/null || cp "/usr/include/$(gcc -print-multiarch)/zconf.h" "$work/headers"
    export ZIG_LOCAL_CACHE_DIR=$work/zig ZIG_GLOBAL_CACHE_DIR=$work/zig
    local compiler=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=zig-cc -DCMAKE_CXX_COMPILER=zig-c++ -DCMAKE_AR="$work/tools/zig-ar"
        -DCMAKE_RANLIB="$work/tools/zig-ranlib" -DCMAKE_C_COMPILER_LAUNCHER= -DCMAKE_CXX_COMPILER_LAUNCHER=)
    cmake -S "$root" -B "$work/node/library" -GNinja "${compiler[@]}" -DDEEMSTER_TESTS=OFF -DDEEMSTER_BENCH=OFF -DDEEMSTER_PROGRAMS=OFF \
        -DLIBMD_INCLUDE="$work/headers" -DLIBMD_STATIC="$(gcc -print-file-name=libmd.a)" >"$work/node.log"
    cmake --build "$work/node/library" --target deemster -j 2 >>"$work/node.log"
    DEEMSTER_LIBRARY=$work/node/library/abi/libdeemster.so DEEMSTER_BUILD=$work/node \
        DEEMSTER_NODE_CMAKE_ARGS="${compiler[*]} -DUV_INCLUDE=$work/headers" bash "$here/scripts/build-native.sh"
    cp "$work/libdeemster-curl.so.4" "$target/"
}

gate() { # no shipped file may need a symbol above the floor
    local bad=0 file version
    for file in "$target"/*; do
        version=$(objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
        echo "$(basename "$file"): $version"
        [ "$(printf '%s\n%s\n' "${version#GLIBC_}" "$glibc" | sort -V | tail -1)" = "$glibc" ] || bad=1
    done
    [ $bad = 0 ] || { echo "A shipped file needs a symbol above GLIBC_$glibc." >&2; exit 1; }
}

try_out() { # the tarball alone, in an empty project, over https
    local mock=${DEEMSTER_MOCK:-${DEEMSTER_BUILD:-$root/build}/bin/deemster-mock}
    [ -x "$mock" ] || { echo "There is no $mock to try the package with: run ./dev build first." >&2; exit 1; }
    rm -rf "$work/node/try" && mkdir -p "$work/node/try" "$work/dist"
    (cd "$here" && npm pack --silent --pack-destination "$work/dist")
    cd "$work/node/try"
    echo '{"private":true}' >package.json
    npm install --offline --silent --no-audit --no-fund "$work"/dist/deemster-*.tgz
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
        -keyout key.pem -out cert.pem 2>/dev/null
    cp "$here/test/release_check.mjs" .
    local runtime
    for runtime in node "${DEEMSTER_BUILD:-$root/build}"/runtimes/node_modules/node*/bin/node; do # others: npm run test:runtimes
        command -v "$runtime" >/dev/null && "$runtime" release_check.mjs "$mock"
    done
}

if [ $# -gt 0 ]; then "$@"; else
    native
    gate
    (try_out)
    ls -l "$target" "$work"/dist/deemster-*.tgz
fi
