# make demo    a small active-learning comparison, from nothing to figures and a table
# make demo-bo a small comparison of optimisers
# make test    all tests
# make speed   this project and BoTorch side by side
# make speed-bo the same for a whole iteration of optimisation; BoTorch takes about ten minutes
# make bench   iterations with both samplers, BoTorch and Pyro: a table and a figure in results/bench
# make figures every figure that the runs in results/ allow, in results/figures
# make report  one HTML page with all that the runs in results/ show: results/report.html
# ARGS="..." is passed on: make test ARGS="tests/gp -x"
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo demo-bo figures report test lint types speed speed-bo bench clean

demo: $(INSTALLED)
	$(BIN)/python scripts/demo.py $(ARGS)

demo-bo: $(INSTALLED)
	$(BIN)/python scripts/demo.py --experiment demo_bo $(ARGS)

figures: $(INSTALLED)
	$(BIN)/python scripts/plot_figures.py $(ARGS)

report: $(INSTALLED)
	$(BIN)/scorebo report --results results --out results/report.html $(ARGS)

test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

speed: $(INSTALLED)
	$(BIN)/python scripts/compare_speed.py $(ARGS)

speed-bo: $(INSTALLED)
	$(BIN)/python scripts/compare_bo_speed.py $(ARGS)

bench: $(INSTALLED)
	$(BIN)/python scripts/bench.py $(ARGS)

# torch goes first and exactly: any other requirement on it draws in a CUDA build.
$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $$(grep '^torch==' requirements.lock)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
