# The commands of this project; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
# uv, where it is installed, downloads side by side; `make UV= run` installs with pip.
UV := $(shell command -v uv)
INSTALL = $(if $(UV),$(UV) pip install --python $(BIN)/python,$(BIN)/python -m pip install) \
	--quiet --constraint constraints.txt --editable
# Code for the boards' own Pythons, like the agent and the probes.
DEVICE_FOLDERS := $(shell find backends examples benchmarks -type d -name device)
# One file at a time on every core, so that what a file's tests share is made once.
PYTEST := $(BIN)/pytest -n logical --maxprocesses 4 --dist loadfile

.PHONY: help run dev test test-all lint types bench proof firmware site clean

help:
	@echo "make run       install, then measure nine variants on this machine and judge them (three minutes)"
	@echo "make dev       install the rest into the same .venv: TensorFlow, ONNX, tools, documentation"
	@echo "make test      lint, types and the tests that take minutes"
	@echo "make test-all  the same, the slow tests and an emulated ARM board (as root; packages: see .ci/run)"
	@echo "make bench     EdgeBench's own cost, side by side with plain scripts"
	@echo "make proof     check what the statistics claim against simulated truth"
	@echo "make firmware  an emulated Cortex-M7's firmware with the trained int8 0.25; prints its .elf (edgebench cortexm)"
	@echo "make site      the documentation into site/; a link that leads nowhere ends it"
	@echo "make clean     remove the environment and the caches of the tools"

$(STAMP): pyproject.toml constraints.txt
	$(if $(UV),$(UV) venv --quiet --seed --allow-existing --python $(PYTHON),$(PYTHON) -m venv) $(VENV)
	$(INSTALL) '.[cpu]'
	@# Older versions of setuptools leave it in the tree's root, where it hides the installed entry points.
	rm -rf edgebench.egg-info
	@touch $@

$(DEV): $(STAMP)
	$(INSTALL) '.[dev]'
	@touch $@

dev: $(DEV)

run: $(STAMP)
	$(BIN)/edgebench run --device cpu --profile disco-realtime --profile disco-arctic \
		--profile disco-greenland --quick --passes 1 --accuracy-images 250 || test $$? -eq 3
	@echo 'The commands above are in $(BIN): . $(BIN)/activate puts them on the path.'

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/vermin --quiet --violations --target=3.6- --no-tips --eval-annotations \
		edgebench/agent edgebench/probes $(DEVICE_FOLDERS)

types: $(DEV)
	$(BIN)/mypy examples/backend-template/src
	$(BIN)/mypy edgebench backends tests benchmarks proofs website

test: lint types
	$(PYTEST) -m "not slow"

test-all: lint types
	EDGEBENCH_TEST_ARM=1 $(PYTEST)

bench: $(DEV)
	$(BIN)/python -m benchmarks

proof: $(DEV)
	$(BIN)/python -m proofs --output docs/statistics.md

firmware: $(DEV)
	@$(BIN)/edgebench cortexm build

site: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build site *.egg-info .pytest_cache .mypy_cache .ruff_cache
