# Sourced: puts a Python with the built package on PATH, in the private folder .venv-python at the top of the project.
# DEEMSTER_BUILD names the CMake build folder (default build/) whose library and mock are used.
python_folder=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)
python_root=${DEEMSTER_ROOT:-$(cd "$python_folder/../.." && pwd)}
python_build=${DEEMSTER_BUILD:-$python_root/build}
python_venv=${DEEMSTER_VENV:-$python_root/.venv-python}
python_marks=$python_venv/marks

python_pip() { "$python_venv/bin/pip" "$@" --quiet --disable-pip-version-check; }

[ -x "$python_venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$python_venv"
if ! cmp -s "$python_folder/requirements.txt" "$python_marks-requirements"; then
    python_pip install -r "$python_folder/requirements.txt"
    cp "$python_folder/requirements.txt" "$python_marks-requirements"
fi
python_sources=$(cat "$python_folder"/*.py "$python_folder"/*.toml "$python_folder"/deemster/* "$python_root"/abi/include/*.h \
    "$python_build/abi/libdeemster.so" 2>/dev/null | sha256sum)
if [ "$python_sources" != "$(cat "$python_marks-sources" 2>/dev/null)" ]; then
    DEEMSTER_LIBRARY=$python_build/abi/libdeemster.so DEEMSTER_SCRATCH=$python_build/python \
        python_pip install --no-build-isolation --no-deps --force-reinstall "$python_folder"
    echo "$python_sources" >"$python_marks-sources"
fi
export PATH=$python_venv/bin:$PATH DEEMSTER_MOCK=$python_build/bin/deemster-mock DEEMSTER_ROOT=$python_root
