#!/usr/bin/env bash
# Builds the Python package into .venv-python and runs its tests; arguments go to pytest.
# DEEMSTER_BUILD names the CMake build folder (default build/) whose library and mock are used.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=${DEEMSTER_ROOT:-$(cd "$here/../.." && pwd)}
build=${DEEMSTER_BUILD:-$root/build}
venv=${DEEMSTER_VENV:-$root/.venv-python}
stamp=$venv/requirements.txt
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
if ! cmp -s "$here/requirements.txt" "$stamp"; then
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$stamp"
fi
DEEMSTER_LIBRARY=$build/abi/libdeemster.so DEEMSTER_SCRATCH=$build/python "$venv/bin/pip" install --quiet \
    --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall "$here"
export DEEMSTER_MOCK=$build/bin/deemster-mock DEEMSTER_ROOT=$root
cd "$here/tests"
exec "$venv/bin/python" -X dev -m pytest -c "$here/pyproject.toml" --rootdir "$here" -W error "${@:-.}"
