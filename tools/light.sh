#!/usr/bin/env bash
# What `pip install .` alone takes and gives: minutes and megabytes of a fresh environment, a ROUGE score outside the checkout.
# Usage: make light [PYTHON=python3.12]
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/source" "$work/empty"
git ls-files -z | tar --null -T - -c | tar x -C "$work/source"  # a build leaves its traces there
begun=$SECONDS
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q "$work/source"
taken=$((SECONDS - begun))
cd "$work/empty"
echo '{"output": "a cat sat", "reference": "the cat sat"}' >rows.jsonl
env -i HOME="$work/empty" "$work/venv/bin/nlgeval" score -e rouge -i rows.jsonl -o scores.csv
echo "core: $(du -sm "$work"/venv/lib/python3*/site-packages | cut -f1) MB in $taken s"
