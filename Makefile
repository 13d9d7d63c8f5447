# `make demo` and `make test` are all that a fresh clone needs: each sets up .venv the first time.
# Another interpreter: make test PYTHON=python3.12. On Linux PyPI's torch brings CUDA along; for the small build:
#   PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make demo

PYTHON ?= python3
JOBS   ?= auto
BIN    := .venv/bin
READY  := .venv/.ready
TOOLS  := .venv/.tools
KERNELS := .venv/.kernels
# Tests that `make coverage` leaves out.
SLOW    = laws verify bench benchmarks demo cli test_docs.py
# Tests of each part of the package, and of what holds all of it together, for `make quick`.
QUICK   = laws/test_exact_equals_none.py laws/test_rules.py laws/test_sample_alone.py laws/test_kernels.py \
          laws/test_batches.py laws/test_native_draws.py compiler/test_draws.py compiler/test_pipeline.py \
          native/test_layout.py data/test_laws_of_loaders.py sources images/test_encoded.py \
          store/test_store_round_trip.py recipe/test_recipe_malformed.py recipe/test_recipe_laws.py lint \
          cli/test_every_command.py interop/test_import_policies.py test_architecture.py test_public_face.py \
          test_golden.py
# Laws that run every native kernel, and libjpeg.
SANITIZED = $(shell grep -rlE --include='test_*.py' 'from kernel_sets import|native.libjpeg import' tests)
# Whatever in benchmarks/ runs by itself and knows --write.
SCRIPTS = $(shell grep -l __main__ $$(grep -l -e --write benchmarks/*.py))

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

.DEFAULT_GOAL := help
.PHONY: help demo test quick browser soak mutants sanitize coverage lint format bench package wheel release notebook site clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

demo: $(KERNELS)  ## draw a small data set, run recipes over it, write preview grids to demo-out/
	@echo 'Starting the demo'
	@$(BIN)/augrecipes demo

test: $(TOOLS) $(KERNELS)  ## run the tests
	@$(BIN)/pytest -n $(JOBS) --maxprocesses 8 --durations 25

quick: $(TOOLS) $(KERNELS)  ## run the tests that find most, in a minute or two
	@$(BIN)/pytest -n $(JOBS) --maxprocesses 8 $(addprefix tests/,$(QUICK))

browser: $(TOOLS) $(KERNELS)  ## run the studio's page in Chromium and Firefox without a window; brings Playwright along
	@$(BIN)/python .ci/install.py -e '.[browser]'
	@$(BIN)/python -c 'import shutil, sys; sys.exit(not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))' \
		|| $(BIN)/playwright install chromium
	@$(BIN)/pytest tests/studio

soak: $(TOOLS) $(KERNELS)  ## run the long tests too: more random recipes, more broken files, every instruction set
	@$(BIN)/python .ci/install.py --doing 'looking for a compiler' $(BIN)/python augrecipes/native/build.py --all || true
	@AUGRECIPES_TEST_KERNELS=all $(BIN)/pytest -n $(JOBS) --maxprocesses 8 -m 'not mutants' --hypothesis-profile soak

mutants: $(TOOLS) $(KERNELS)  ## change the rules, the order of samples and the draws a little, and see whether tests notice
	@$(BIN)/pytest -s -m mutants tests/test_mutants.py

# What goes over memory and arithmetic that the kernels may not touch ends the run: compiled with gcc or clang's watchers.
# Its report goes straight to the terminal: what pytest captures would be lost with the run.
WATCHED = build/kernels-watched.so
sanitize: $(TOOLS)  ## run the laws of the native kernels with the compiler's address and undefined-behaviour watchers
	@mkdir -p build && $(BIN)/python augrecipes/native/build.py $(WATCHED) -g -DPREFETCH_BY_READING -fsanitize=address,undefined -fno-sanitize-recover=all
	@LD_PRELOAD="$$($${CC:-cc} -print-file-name=libasan.so) $$($${CC:-cc} -print-file-name=libstdc++.so.6)" ASAN_OPTIONS=detect_leaks=0 AUGRECIPES_KERNELS=$(WATCHED) \
		AUGRECIPES_TEST_KERNELS=all \
		$(BIN)/pytest -p no:xdist --capture=sys $(SANITIZED)

coverage: $(TOOLS) $(KERNELS)  ## how much of the package the quick tests reach; fails below the floor in pyproject.toml
	@$(BIN)/pytest -n $(JOBS) --maxprocesses 8 --cov --cov-report term $(addprefix --ignore tests/,$(SLOW))

lint: $(TOOLS)  ## ruff, mypy, and which package may import which
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/mypy --no-error-summary --config-file tests/mypy.toml
	@report=$$($(BIN)/lint-imports --no-cache --no-logo) || { echo "$$report"; exit 1; }

format: $(TOOLS)  ## let ruff lay out the code
	@$(BIN)/ruff format --quiet .

bench: $(TOOLS) $(KERNELS)  ## measure, and write benchmarks/RESULTS.md
	@failed=0; for script in $(SCRIPTS); do echo "$$script"; \
		OMP_NUM_THREADS=1 $(BIN)/python $$script --write || failed=1; done; exit $$failed

package: $(TOOLS)  ## build wheel and sdist, install each in an environment of its own, and try it
	@$(BIN)/python .ci/package.py

wheel: $(TOOLS)  ## build sdist and wheel into dist/, with libjpeg-turbo; TARGET=aarch64 for another Linux
	@$(BIN)/python .ci/install.py -e '.[wheels]'
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python .ci/wheel.py dist $(TARGET)

release: $(TOOLS)  ## go through all that comes before an upload, and upload nothing
	@$(BIN)/python .ci/install.py -e '.[wheels]'
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python .ci/release.py $(foreach python,$(PYTHONS),--python $(python))

notebook: $(TOOLS) $(KERNELS)  ## run docs/tour.ipynb in Jupyter, and write it with all that it shows to build/tour.html
	@$(BIN)/python .ci/install.py -e '.[notebooks]'
	@mkdir -p build && $(BIN)/jupyter-nbconvert --log-level WARN --execute --to html --output-dir build docs/tour.ipynb

site: $(KERNELS)  ## build the site of docs/, the gallery and the reference into build/site/, with zensical
	@$(BIN)/python .ci/install.py -e '.[site]'
	@$(BIN)/python .ci/website/build.py build

clean:  ## remove .venv, caches and demo-out
	@rm -rf .venv demo-out dist build .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# torch goes first: whatever else asks for it then finds the pinned one.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'augrecipes needs Python 3.11 or newer: make PYTHON=python3.12 ...' >&2; exit 1; }
	@echo 'Setting up .venv, this once: torch, the large part, then the rest'
	@test -x $(BIN)/python || $(PYTHON) .ci/install.py --doing 'making .venv' $(PYTHON) -m venv .venv
	@$(BIN)/python .ci/install.py torch
	@$(BIN)/python .ci/install.py -e .
	@touch $@

# What tests and linters need beside it: Ray, a server of S3 and the like, which the demo does without.
$(TOOLS): $(READY)
	@echo 'Setting up what the tests need, this once'
	@$(BIN)/python .ci/install.py -e '.[dev]'
	@touch $@

# Built again when a source changes; where they cannot be built everything runs without them.
$(KERNELS): $(READY) $(wildcard augrecipes/native/*.c augrecipes/native/*.h augrecipes/native/*.def augrecipes/native/codec/*.[ch] augrecipes/native/build.py)
	@$(BIN)/python .ci/install.py --doing 'looking for a compiler' $(BIN)/python augrecipes/native/build.py || true
	@touch $@
