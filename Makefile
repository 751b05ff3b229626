# Two commands for a newcomer: `make run` opens the dashboard, `make test` passes every test. Both set up what they need.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Two stages: what the dashboard needs, and what tests, checks, pictures and Spark need on top.
READY  := $(VENV)/.ready
STAMP  := $(VENV)/.ready-for-tests
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

.PHONY: run setup spark test test-oldest-spark test-broker check soak fuzz pictures docs bench bench-spark fleet clean soak-ui soak-broker fresh-vectors mutants left-out

run: $(READY)
	@$(BIN)/ringside

setup: $(STAMP)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "ringside needs Python 3.11 or newer; this is %d.%d. Try: make PYTHON=python3.12" % sys.version_info[:2])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) (once) …" >&2
	@$(INSTALL) .
	@touch $@

# What fleets need on top of the dashboard: Spark and what it reads with; Java 17 is the machine's own.
spark: $(READY)
	@$(INSTALL) '.[spark]'

$(STAMP): $(READY)
	@echo "adding what tests and Spark need to $(VENV) (once) …" >&2
	@$(INSTALL) '.[test,check,pictures,docs,web,spark,mutants]'
	@touch $@

# What is started waits for half of its time, so three workers keep two cores busy. The tests of a file, and all that
# need Spark, are in one of them (tests/distribution.py). Byte code is kept even where that is switched off, so that no
# worker or started process compiles all again.
test: $(STAMP)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist loadgroup

# The engine's predictions against a real Apache Pulsar broker: 5.0.1, or RELEASE=4.2.4 (Maven brings the jars once, 108 MB;
# Java 21 comes with what tests need). `make test` has a short form. A run checks 500 predictions at least; STEPS=n changes
# that, SEED=s the steps; what is found wrong is kept in build/broker.
test-broker: $(STAMP)
	@RINGSIDE_BROKER_RELEASE=$(RELEASE) RINGSIDE_BROKER_STEPS=$(or $(STEPS),60) RINGSIDE_BROKER_PREDICTIONS=$(if $(STEPS),0,500) RINGSIDE_BROKER_SEED=$(SEED) $(BIN)/python -m pytest -q -n 0 tests/broker

# New cases for consumers, splits, shedding and placement, answered by Pulsar's own classes (jars as above) and by the
# engine: LINES=n of each family, SEED=s; RELEASE=3.0.7 takes classes and rules of that release, not those of 5.0.1. Lines
# that differ are kept in build/fresh_vectors.
fresh-vectors: $(STAMP)
	@$(BIN)/python -m tests.fresh_vectors --lines $(or $(LINES),1000) --seed $(or $(SEED),1) $(if $(RELEASE),--release $(RELEASE))

# Random joins and leaves on a real broker, read again and again for MINUTES: the model must never disagree.
soak-broker: $(STAMP)
	@$(BIN)/python -m tests.broker.soak --minutes $(or $(MINUTES),60) --seed $(SEED)

check: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

# Random commands against oracles; what is found is shrunk and kept in build/soak.
SECONDS ?= 60
SEED    ?= 1
soak: $(STAMP)
	@$(BIN)/python -m tests.soak --seconds $(SECONDS) --seed $(SEED)

# Mutated real input for every reader; what breaks one is shrunk and kept in tests/hostile.
fuzz: $(STAMP)
	@$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED) $(ARGS)

# Every member of every sample, stall and recording left out in turn: `why` may claim less, and nothing else. An hour;
# ARGS=names tries those alone.
left-out: $(STAMP)
	@$(BIN)/python -m tests.engine.diagnosis.left_out $(ARGS)

# Random keys on every screen: KEYS=n SEED=s JOBS=processes; REPLAY='…' does again what a failure printed.
soak-ui: $(STAMP)
	@$(BIN)/python -m tests.soak_ui --keys $(or $(KEYS),2000) --seed $(or $(SEED),1) --jobs $(or $(JOBS),1) \
		$(if $(REPLAY),--replay '$(REPLAY)')

pictures: $(STAMP)
	@$(BIN)/python -m tests.pictures docs/pictures

# The site with all commands, in build/site; a link that leads nowhere ends it.
docs: $(STAMP)
	@$(BIN)/python -m tests.manual build/docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo build/site/index.html

bench: $(STAMP)
	@$(BIN)/python -m tests.bench $(ARGS)

# The whole pipeline on a recorded installation (needs Java 17), and the result.
fleet: $(STAMP)
	@$(BIN)/ringside fleet run tests/recordings/f-inventory-2 build/fleet >/dev/null
	@$(BIN)/ringside fleet open build/fleet

# The jobs on the oldest Spark that they are for; its package is put beside, where it is found first.
OLDEST_SPARK = 4.0.1
test-oldest-spark: $(STAMP)
	@$(BIN)/python -m pip install -q --no-deps --target .spark-$(OLDEST_SPARK) --upgrade pyspark==$(OLDEST_SPARK)
	@PYTHONPATH=$(CURDIR)/.spark-$(OLDEST_SPARK) $(BIN)/python -m pytest -q -n 0 tests/pipeline/test_clusters.py tests/pipeline/test_fleet.py tests/pipeline/test_lint.py

bench-spark: $(STAMP)
	@$(BIN)/python -m tests.bench_spark $(ARGS)

# Small changes of the engine's rules, one at a time, and whether the tests of the room notice: 95 % must be noticed.
# ROOM=failover (or "routing bundles"; all without it), ARGS="--file engine/failover/ring.py", ARGS=--help for the rest.
mutants: $(STAMP)
	@$(BIN)/python -m tests.mutants $(ROOM) $(ARGS)

clean:
	rm -rf $(VENV) dist build
