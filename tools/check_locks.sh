#!/usr/bin/env bash
# Whether each lock can be installed on each Python that the project allows: of every pin a wheel for it, but for those
# named here, which are built. Nothing is installed, and no such Python is needed. Usage: make check-locks
set -euo pipefail
cd "$(dirname "$0")/.."
uv=.venv/bin/uv
. tools/certificates.sh
built="--no-binary rouge-score"  # pure Python, published as source alone
check() {  # GROUP PYTHON PLATFORM MORE-BUILT...
    local group=$1 python=$2 platform=$3; shift 3
    UV_FIND_LINKS='' MACOSX_DEPLOYMENT_TARGET=14.0 "$uv" pip compile -q --no-deps --only-binary :all: $built "$@" \
        --no-annotate --no-header --no-emit-index-url --python-version "$python" --python-platform "$platform" \
        "requirements/$group.txt" >/dev/null
    echo "$group.txt: Python $python"
}
for python in ${PYTHONS:-3.11 3.12 3.13 3.14}; do
    check cpu "$python" x86_64-manylinux_2_28
    check base "$python" aarch64-apple-darwin
    # llguidance, of vLLM, has no wheel for 3.14 yet: Rust builds it
    if [ "$python" = 3.14 ]; then more="--no-binary llguidance"; else more=; fi
    check gpu "$python" x86_64-manylinux_2_28 $more
done
