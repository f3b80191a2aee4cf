#!/usr/bin/env bash
# Builds the Python package into .venv-python and runs its tests; arguments go to pytest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/env.sh"
cd "$here/tests"
exec python -X dev -m pytest -c "$here/pyproject.toml" --rootdir "$here" -W error "${@:-.}"
