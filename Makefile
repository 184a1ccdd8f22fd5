# The verbs of this project. Each makes .venv when it is missing, or when pyproject.toml or the lock file
# has changed; nothing but Python 3.11 (or newer) and PyPI is needed. `make serve` has .venv-serve
# instead, which lacks the tools of developers. Another Python, before the first call or after
# `make clean`: make serve PYTHON=python3.12

# The first that runs: a version manager may have commands for versions that are not chosen.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14; do \
	$$python -c '' 2>/dev/null && command -v $$python && exit; done; echo python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
SERVE := .venv-serve
SERVE_READY := $(SERVE)/ready
COMPILED := .venv-compiled
COMPILED_READY := $(COMPILED)/ready
LOCK := requirements-dev.lock
SOURCES := src tests bench setup.py examples/designs

# Passed on to the command behind a target, for example: make serve ARGS="--port 9000"
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help serve serve-compiled test test-compiled coverage lint format types imports check lock hooks \
	bench bench-peers conformance differential clients clients-go clients-java browser clients-more prometheus faults \
	faults-consistency clean \
	toolkit-servers toolkit-pyright supported-python wheel docs guides cassandra cassandra-stop test-cassandra \
	cluster bench-cluster transfers faults-cluster

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

$(READY): pyproject.toml $(LOCK)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $(LOCK) --editable .
	@$(BIN)/python -m compileall -q src  # else the first start takes 0.4 s instead of 0.2
	@touch $@

# Before pip runs, which would look for versions that suit an old Python for minutes.
supported-python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit( \
		"Hashrange needs Python 3.11 or newer, and $(PYTHON) is %d.%d. " % (v[0], v[1]) + \
		"Name another one: make PYTHON=python3.11 ...")'

$(READY) $(SERVE_READY) $(COMPILED_READY): | supported-python

# What the server needs to run, and nothing else.
$(SERVE_READY): pyproject.toml
	@echo "1/3 making $(SERVE) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear $(SERVE)
	@echo "2/3 installing Hashrange and what it needs to run, from PyPI"
	@$(SERVE)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --editable .
	@$(SERVE)/bin/python -m pip uninstall --yes -qq setuptools pip  # a quarter of its size
	@echo "3/3 compiling the sources to bytecode, for a quick start"
	@$(SERVE)/bin/python -m compileall -q src
	@touch $@

serve: $(SERVE_READY) ## Start a server on 127.0.0.1:8000 with its data in ./hashrange-data
	@$(SERVE)/bin/hashrange serve $(ARGS)

# Not editable: what runs there is what was compiled, until something changes in src.
$(COMPILED_READY): pyproject.toml $(LOCK) setup.py $(shell find src -name '*.py')
	@test -x $(COMPILED)/bin/python || $(PYTHON) -m venv $(COMPILED)
	@$(COMPILED)/bin/python -m pip install --quiet --disable-pip-version-check 'setuptools>=77' -r $(LOCK)
	@echo "compiling, which takes a minute or two"
	@rm -rf build
	@HASHRANGE_COMPILE=1 $(COMPILED)/bin/python -m pip install --quiet --disable-pip-version-check \
		--force-reinstall --no-deps --no-build-isolation .
	@$(COMPILED)/bin/python -c 'import hashrange.model.values as m; assert m.__file__.endswith((".so", ".pyd"))'
	@touch $@

serve-compiled: $(COMPILED_READY) ## The same, compiled (needs a C compiler and Python's headers)
	@$(COMPILED)/bin/hashrange serve $(ARGS)

test: check ## Check the code and run all default tests
	$(BIN)/pytest -n auto $(ARGS)

test-compiled: $(COMPILED_READY) ## Run all default tests on the compiled build (needs the same)
	$(COMPILED)/bin/pytest -n auto $(ARGS)

# Branches count as lines do. The servers that tests start are measured, too.
coverage: $(READY) ## Run all default tests, print what they reach, fail below the floors
	@rm -f .coverage .coverage.*
	$(BIN)/pytest -n auto --cov --cov-report= $(ARGS)
	$(BIN)/python -m tests.repository.coverage_floors

check: lint types imports ## Lint, check types and the order of layers

lint: $(READY) ## Check style and formatting
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

format: $(READY) ## Format the code and fix what can be fixed by a tool
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

types: $(READY) ## Check types, of tests and benchmarks too
	$(BIN)/mypy

imports: $(READY) ## Check that imports follow the layers
	$(BIN)/lint-imports

lock: $(READY) ## Renew the versions of the tools for development in requirements-dev.lock
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --extra dev \
		--no-annotate --no-header --output-file $(LOCK) pyproject.toml

hooks: $(READY) ## Check each commit before it is made
	$(BIN)/pre-commit install

bench: $(READY) ## Measure this server beside the peers that are installed (see bench/README.md)
	$(BIN)/python -m bench $(ARGS)

bench-peers: $(READY) ## Install the servers to compare with (needs npm, Java and Maven)
	$(BIN)/python -m bench.peers $(ARGS)

conformance: $(READY) ## Run a checkout of dynamodb-conformance: make conformance SUITE=path [ENGINE=cassandra]
	$(BIN)/python -m tests.conformance $(SUITE) $(if $(ENGINE),--engine $(ENGINE)) $(ARGS)

differential: $(READY) ## Compare random requests with DynamoDB Local, or ENGINE=cassandra with memory (Java, Maven)
	$(BIN)/python -m tests.differential $(if $(ENGINE),--engine $(ENGINE)) $(ARGS)

clients: $(READY) ## Run other SDKs against this server (needs Node)
	$(BIN)/pytest tests/clients --with-npm --with-cli $(ARGS)

clients-go: $(READY) ## Run the AWS SDK for Go v2 against this server (needs Go)
	$(BIN)/pytest tests/clients --with-go -m go $(ARGS)

clients-java: $(READY) ## Run the clients in Java against this server (needs Java and Maven)
	$(BIN)/pytest tests/clients --with-java -m java $(ARGS)

clients-more: $(READY) ## Install and run a program with each of many clients (needs Node and Go)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pytest tests/clients/test_more.py --with-more -rs $(ARGS)

prometheus: $(READY) ## Have a real Prometheus scrape this server (needs prometheus and promtool, as in Debian)
	$(BIN)/pytest tests/clients --with-prometheus -m prometheus $(ARGS)

# Programs of others that read, write and serve what transfers do; they have an environment of their own.
JUDGES := .venv-judges
transfers: $(READY) ## Let DynamoDB Local, moto and DuckDB judge copies, exports, imports (Java, Maven, Node)
	@test -x $(JUDGES)/bin/moto_server || ($(PYTHON) -m venv $(JUDGES) && $(JUDGES)/bin/python -m pip \
		install --quiet --disable-pip-version-check 'moto[server]>=5' 'duckdb>=1.1' 'amazon-ion>=0.13')
	HASHRANGE_JUDGES=$(JUDGES)/bin $(BIN)/pytest tests/transfers --with-judges -m judges $(ARGS)

browser: $(READY) ## Let web pages in a browser attack this server (needs Chromium: apt install chromium)
	$(BIN)/pytest tests/browser --with-browser $(ARGS)

toolkit-servers: $(READY) ## Run the toolkit against DynamoDB Local (needs Java, Maven) and moto (bench-peers)
	$(BIN)/python -m tests.toolkit $(ARGS)

toolkit-pyright: $(READY) ## Check the types of the toolkit's examples with pyright (needs Node)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pyright
	$(BIN)/pytest tests/toolkit/test_types.py --with-pyright $(ARGS)

DOCS := .venv-docs
docs: $(READY) ## Build the documentation as a site in site/ (ARGS=serve shows it)
	@test -x $(DOCS)/bin/mkdocs || ($(PYTHON) -m venv $(DOCS) && \
		$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check 'mkdocs-material>=9.6,<10')
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs $(or $(ARGS),build --quiet)

guides: $(READY) ## Run the commands and programs of the guides as they stand
	$(BIN)/pytest tests/guides --with-guides $(ARGS)

wheel: $(READY) ## Build the wheel; install and use it in empty environments, of each Python that is here
	@rm -rf build
	$(BIN)/python -m tests.wheel $(ARGS)

# Jars come from Maven Central, once; data is in .cassandra. Another number of nodes: NODES=3
NODES ?= 1
cassandra: $(READY) ## Start Cassandra on loopback addresses (needs Java 17 and Maven): make cassandra NODES=3
	$(BIN)/python -m tests.cassandra_nodes start $(NODES)

cassandra-stop: $(READY) ## Stop the Cassandra nodes that were started here
	$(BIN)/python -m tests.cassandra_nodes stop

test-cassandra: $(READY) ## Run the engine's contract and the server's suites on Cassandra (Java 17, Maven)
	$(BIN)/python -m tests.cassandra_nodes.suites $(ARGS)

bench-cluster: $(READY) ## Measure Hashrange beside the bare driver on Cassandra (three nodes; Java 17, Maven)
	$(BIN)/python -m tests.cassandra_nodes start 3 --network 127.41.0.
	$(BIN)/python -m bench.cluster 127.41.0.1,127.41.0.2,127.41.0.3 $(ARGS)
	$(BIN)/python -m tests.cassandra_nodes stop

cluster: $(READY) ## Run three Cassandra nodes and two servers on ports 8000 and 8001 (Java 17, Maven)
	$(BIN)/python -m tests.cassandra_nodes.cluster $(ARGS)

# What the long run means; each can be set in the environment, the seed too.
faults: export HASHRANGE_SEED := $(or $(HASHRANGE_SEED),$(shell date +%s))
faults: export HASHRANGE_KILL_ROUNDS ?= 100
faults: export HASHRANGE_TRANSFER_KILLS ?= 100
faults: export HASHRANGE_POWER_IMAGES ?= 500
faults: export HASHRANGE_MISHAP_SEEDS ?= 20
faults: export HASHRANGE_CATALOG_ROUNDS ?= 300
faults: export HASHRANGE_MUTATIONS ?= 20000
faults: export HASHRANGE_REPETITIONS ?= 5000
faults: export HASHRANGE_FUZZ ?= 1000000
faults: export HASHRANGE_SMALL_DISK ?= 1
faults: export HASHRANGE_STRANGERS ?= 200
faults: $(READY) ## Run the long fault tests: kills, power loss, full disks
	@echo "seed: $$HASHRANGE_SEED"
	$(BIN)/pytest tests/faults -s $(ARGS)

faults-consistency: $(READY) ## Check histories of clients under kills and pauses (needs Go)
	$(BIN)/pytest tests/consistency --with-porcupine
	$(BIN)/python -m tests.consistency $(ARGS)

faults-cluster: $(READY) ## Check the same on three Cassandra nodes that are killed, paused and cut off (ARGS="--minutes 60")
	$(BIN)/python -m tests.cassandra_nodes.campaign $(ARGS)

clean: ## Remove everything that was made here, except data
	rm -rf $(VENV) $(SERVE) $(COMPILED) $(DOCS) $(JUDGES) build dist site .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache src/*.egg-info
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
