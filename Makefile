# Each command does all of its own set-up in .venv.
PYTHON ?= python3
BIN := .venv/bin
# The tests make their threads themselves: two worker processes of one BLAS thread each.
WORKERS ?= 2

.PHONY: help demo test lint format docs clean

help:
	@echo "make demo     learn from a million rows in one pass, and draw what was learned"
	@echo "make test     ruff, mypy, import-linter and pytest, as CI does"
	@echo "make lint     the first three alone"
	@echo "make format   let ruff fix what it can"
	@echo "make docs     build the documentation, as docs/_build/index.html"
	@echo "make clean    remove .venv and every cache"

demo: .venv/report
	$(BIN)/bochner demo

test: .venv/test lint
	$(BIN)/pytest -n $(WORKERS) --dist loadfile

lint: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: .venv/test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -j auto docs docs/_build
	@echo "docs/_build/index.html"

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Bochner needs Python 3.11 or later: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv

.venv/report: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[report]"
	@touch $@

.venv/test: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	@touch $@ .venv/report

.venv/docs: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $@ .venv/report

clean:
	rm -rf .venv docs/_build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
