# make demo    a small active-learning comparison, from nothing to figures and a table
# make demo-bo a small comparison of optimisers
# make test    all tests
# make speed   this project and BoTorch side by side
# make speed-bo the same for a whole iteration of optimization; BoTorch takes about ten minutes
# make bench   steps and iterations, before and now, and beside BoTorch and Pyro: tables and figures in results/bench
# make figures every figure that the runs in results/ allow, in results/figures
# make report  one HTML page with all that the runs in results/ show: results/report.html
# make test-newest PYTHON=python3.13   the wheel in an empty environment, with the newest versions of everything
# make test-lowest                     the same with the lowest versions that pyproject.toml allows
# make lock    write the lock files anew, adding what is missing; ARGS=--upgrade for the newest versions
# ARGS="..." is passed on: make test ARGS="tests/gp -x"
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo demo-bo figures report test test-newest test-lowest lint types speed speed-bo bench lock clean

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

test-newest:
	$(PYTHON) scripts/maintenance/test_wheel.py --torch newest $(ARGS)

test-lowest:
	$(PYTHON) scripts/maintenance/test_wheel.py --versions lowest --torch lowest $(ARGS)

lock:
	$(PYTHON) -m venv build/uv
	build/uv/bin/python -m pip install --quiet uv
	build/uv/bin/python scripts/maintenance/lock.py $(ARGS)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(INSTALLED)
	$(BIN)/mypy

speed: $(INSTALLED)
	$(BIN)/python scripts/speed/compare_speed.py $(ARGS)

speed-bo: $(INSTALLED)
	$(BIN)/python scripts/speed/compare_bo_speed.py $(ARGS)

bench: $(INSTALLED)
	$(BIN)/python scripts/speed/steps.py $(STEPS_ARGS)
	$(BIN)/python scripts/speed/growth.py --kinds SCoreBO-HR --out results/bench \
	  --implementations "scorebo, nuts" "scorebo, sequential" "before, nuts" $(GROWTH_ARGS)
	$(BIN)/python scripts/speed/bench.py $(ARGS)

# torch last and from a file of its own: what it needs is there by then, in the locked versions.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
$(INSTALLED): requirements.lock requirements-torch.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --no-deps -r requirements.lock
	$(PIP) -r requirements-torch.lock
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
