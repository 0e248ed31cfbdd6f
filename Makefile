.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

help: ## what each target does
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP) ## make .venv and install the pinned requirements

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Magistrate needs Python 3.11 or newer; set PYTHON=python3.12, for example")'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python lacks venv; on Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing the pinned requirements (about a minute the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q engine dashboard pages  # an editable install is not compiled by pip: 0.2 s a command
	@touch $@

run: setup ## set everything up and serve on http://127.0.0.1:8501
	@exec $(BIN)/magistrate serve

test: setup ## the whole suite with the coverage gate; browser tests skip where no browser is found
	@rm -f .coverage .coverage.*
	@$(BIN)/python -m coverage run -m pytest --numprocesses auto --dist loadfile
	@$(BIN)/python -m coverage combine --quiet
	@$(BIN)/python -m coverage report

browser: setup ## the real-browser tests only
	@$(BIN)/python -m pytest -m browser

lint: setup ## format, lint, types, import contracts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: setup ## measure what was asked for, one table a section; some minutes
	@$(BIN)/python -m tests.performance.bench

messages: setup ## extract the interface's strings into the catalogues
	@$(BIN)/python -m dashboard.locale.extract

lock: setup ## renew requirements.lock
	@$(BIN)/uv pip compile pyproject.toml --extra dev --universal --generate-hashes --python-version 3.11 --no-header --no-emit-index-url --quiet -o requirements.lock
	@sed -i '/^--find-links/d' requirements.lock

.PHONY: help setup run test browser lint bench messages lock
