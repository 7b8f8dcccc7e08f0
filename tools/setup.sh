#!/usr/bin/env bash
# Create .venv with exactly what a lock lists, then this package. Usage: tools/setup.sh cpu|cpu-vllm|gpu|base
# Called by the Makefile; PYTHON and UV_VERSION may be set. A broken or half-made .venv is made anew, an interrupted
# set-up goes on where it stopped, and a second one waits for the first.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$(pwd -P)
group=${1:?cpu, cpu-vllm, gpu or base}
lock=requirements/$group.txt
python=${PYTHON:-python3}
: "${UV_VERSION:?the version of uv; the Makefile names it}"
say() { echo "setup: $*" >&2; }
fail() { say "$*"; exit 2; }
[ ! -L .venv ] || fail ".venv is a link to another checkout's; remove the link, and run this again"
[ -f "$lock" ] || fail "no lock $lock; choose GROUP=cpu, cpu-vllm, gpu or base"

fits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1; }
if ! fits "$python"; then
    found=$("$python" --version 2>&1) && found="is $found" || found="does not run"
    other=
    for candidate in python3.11 python3.12 python3.13 python3.14; do
        if fits "$candidate"; then other=$candidate; break; fi
    done
    [ -n "$other" ] || fail "$python $found; Python 3.11 to 3.14 is needed. Set PYTHON=/path/to/python"
    say "$python $found; using $other"
    python=$other
fi

# One set-up at a time: `make test` and `make reproduce-all` may be started together
gate=.venv-lock
waited=
until mkdir "$gate" 2>/dev/null; do
    [ -d "$gate" ] || fail "cannot write to $here"
    owner=$(cat "$gate/pid" 2>/dev/null || true)
    if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then rm -rf "$gate"; continue; fi
    [ -n "$waited" ] || say "another set-up is at work here${owner:+ (process $owner)}; waiting (if none is: rm -r $gate)"
    waited=yes
    sleep 1
done
trap 'rm -rf "$gate"' EXIT
trap 'say "stopped; the same command goes on from here"; exit 130' INT TERM
echo $$ >"$gate/pid"

# Sound: it runs, it has pip, it was made for this folder (its scripts name their place) and for an allowed Python
sound() {
    fits .venv/bin/python && .venv/bin/python -m pip --version >/dev/null 2>&1 && 
        grep -qsF "$here/.venv" .venv/pyvenv.cfg .venv/bin/activate
}
if ! sound; then
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
        fail "$python has no module venv or ensurepip; install it (Debian, Ubuntu: apt install python3-venv) or set PYTHON=/path/to/python"
    if [ -e .venv ]; then say ".venv is incomplete or was made elsewhere; making it anew"; fi
    say "creating .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi
uv=.venv/bin/uv
if [ "$("$uv" --version 2>/dev/null | cut -d' ' -f2)" != "$UV_VERSION" ]; then
    say "installing uv $UV_VERSION"
    .venv/bin/python -m pip install -q --disable-pip-version-check --force-reinstall --require-hashes \
        -r requirements/uv.txt ||
        fail "cannot install uv; is a package index within reach?"
fi
. tools/certificates.sh
say "installing $(grep -c == "$lock") locked packages ($lock); a minute or two on a first run"
export UV_COMPILE_BYTECODE=1 UV_FIND_LINKS=${UV_FIND_LINKS:-${PIP_FIND_LINKS:-}} VIRTUAL_ENV=$here/.venv
# Every package is held against the hashes in its lock. Those of torch in the CPU locks are of PyTorch's CPU builds, which
# a local folder of wheels has where one is set, else PyTorch's own index; uv finds them by the tag of the build alone.
tag=
backend=()
if [[ $group = cpu* ]]; then tag=+cpu; fi
if [[ $group = cpu* ]] && [ -z "$UV_FIND_LINKS" ]; then backend=(--torch-backend cpu); fi
# The packages of a lock, each with its hashes, whose names begin so (with=1) or do not (with=0)
entries() { awk -v with="$1" '/^[^ ]/ { is = /^(torch|triton)==|^(nvidia|cuda)-/ } is == with' "$2"; }
if ! sed -E "s/^(torch==[0-9.]+) /\\1$tag /" "$lock" |
    "$uv" pip sync ${backend[@]+"${backend[@]}"} --require-hashes -; then
    [[ $group = cpu* ]] || exit 1
    say "NOT AS LOCKED: no CPU build of torch within reach. The package index's own build is installed (several GB), with"
    say "the CUDA packages that it loads; all are held against the hashes of requirements/gpu.txt"
    { entries 0 "$lock"; entries 1 requirements/gpu.txt; } | "$uv" pip sync --require-hashes -
fi
"$uv" pip install -q --no-deps --no-build-isolation -e .
# Running a notebook is no change for git (.gitattributes); a folder that is no checkout of its own needs none of it
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$here" ]; then
    # Of files as old as git's index, as after a clone, git would ask the filter at every look: seconds for each run. So
    # it looks at them once before it has the filter, which takes no time.
    git update-index -q --refresh || true
    git config filter.nlgeval-notebook.clean "python3 -I reproduction/report/committed.py" || say "git keeps its settings"
    git config diff.nlgeval-notebook.textconv "python3 -I reproduction/report/committed.py --text" || true
fi
say "ready"
