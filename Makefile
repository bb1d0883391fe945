# Each command does all of its own set-up in .venv.
PYTHON ?= python3
BIN := .venv/bin
# The tests make their threads themselves: two worker processes of one BLAS thread each.
WORKERS ?= 2

PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

.PHONY: help demo test lint format docs test-lowest test-newest release-check clean

help:
	@echo "make demo           learn from a million rows in one pass, and draw what was learned"
	@echo "make test           ruff, mypy, import-linter and pytest, as CI does"
	@echo "make lint           the first three alone"
	@echo "make format         let ruff fix what it can"
	@echo "make docs           build the documentation, as docs/_build/index.html"
	@echo "make test-lowest    pytest with the lowest version of every dependency"
	@echo "make test-newest    pytest with the newest ones; PYTHON=python3.13 for another Python"
	@echo "make release-check  all of these tests, and the documentation"
	@echo "make clean          remove the environments and every cache"

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

# These two make their environments anew, since the newest versions change from day to day.
test-lowest:
	rm -rf .venv-lowest
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python $(PIP_INSTALL) --editable ".[test]" `$(PYTHON) .ci/lowest.py test`
	.venv-lowest/bin/pytest -n $(WORKERS) --dist loadfile

test-newest:
	rm -rf .venv-newest
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python $(PIP_INSTALL) --upgrade pip
	.venv-newest/bin/python $(PIP_INSTALL) --editable ".[test]"
	.venv-newest/bin/pytest -n $(WORKERS) --dist loadfile

release-check: test docs test-lowest test-newest

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Bochner needs Python 3.11 or later: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv

.venv/report: pyproject.toml | .venv/bin/python
	$(BIN)/python $(PIP_INSTALL) --editable ".[report]"
	@touch $@

.venv/test: pyproject.toml | .venv/bin/python
	$(BIN)/python $(PIP_INSTALL) --editable ".[test]"
	@touch $@ .venv/report

.venv/docs: pyproject.toml | .venv/bin/python
	$(BIN)/python $(PIP_INSTALL) --editable ".[docs]"
	@touch $@ .venv/report

clean:
	rm -rf .venv .venv-lowest .venv-newest docs/_build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
