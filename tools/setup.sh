#!/usr/bin/env bash
# Create .venv with exactly what a lock lists, then this package. Usage: tools/setup.sh cpu|gpu|base
# Called by the Makefile; PYTHON and UV_VERSION may be set.
set -euo pipefail
cd "$(dirname "$0")/.."
group=${1:?cpu, gpu or base}
lock=requirements/$group.txt
python=${PYTHON:-python3}
[ -f "$lock" ] || { echo "setup: no lock $lock; choose GROUP=cpu, gpu or base" >&2; exit 2; }

if ! "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
    for candidate in python3.11 python3.12 python3.13; do
        if command -v "$candidate" >/dev/null; then python=$candidate; break; fi
    done
fi
"$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || {
    echo "setup: $python is $("$python" --version 2>&1); Python 3.11, 3.12 or 3.13 is needed. Set PYTHON=/path/to/python" >&2; exit 2; }

say() { echo "setup: $*" >&2; }
if [ ! -x .venv/bin/python ]; then
    say "creating .venv with $("$python" --version)"
    "$python" -m venv .venv
fi
if [ "$(.venv/bin/uv --version 2>/dev/null | cut -d' ' -f2)" != "$UV_VERSION" ]; then
    say "installing uv $UV_VERSION"
    .venv/bin/python -m pip install -q --disable-pip-version-check "uv==$UV_VERSION"
fi
say "installing $(grep -c == "$lock") locked packages ($lock); a minute or two on a first run"
export UV_COMPILE_BYTECODE=1 UV_FIND_LINKS=${UV_FIND_LINKS:-${PIP_FIND_LINKS:-}} VIRTUAL_ENV=$PWD/.venv
# The CPU lock has no CUDA packages, so torch must be a CPU build: from a local folder of wheels where one is set,
# else from PyTorch's own CPU index.
torch=()
if [ "$group" = cpu ] && [ -z "$UV_FIND_LINKS" ]; then torch=(--torch-backend cpu); fi
if ! .venv/bin/uv pip sync "${torch[@]}" "$lock"; then
    [ "$group" = cpu ] || exit 1
    say "no CPU build of torch within reach; installing the one of the package index with what it needs (larger)"
    .venv/bin/uv pip install -r "$lock" --override requirements/overrides-cpu.txt
fi
.venv/bin/uv pip install -q --no-deps --no-build-isolation -e .
say "ready"
