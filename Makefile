# `make demo`, `make test` and `make packages` do all their own set-up: a virtual environment
# in .venv with the exact versions of constraints.txt. Running them twice is safe.
PYTHON ?= python3
EXTRAS ?= ,learn
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test lint types format docs docs-serve packages bench-foundation bench-analysis bench-losses bench-ablation bench-circuits bench-requirements bench-addition bench-field-advice bench-study bench-advice bench-balancing bench-families bench-ltn sweep-losses soak clean

demo: $(INSTALLED)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

test: lint types
	$(BIN)/pytest --numprocesses 2 --dist worksteal

# Builds the sdist and, from it, the wheel, and tries both in empty environments: the theory alone
# and with PyTorch. `make packages EXTRAS=,learn,all` tries every extra as well.
packages: $(INSTALLED)
	$(BIN)/python release/try_packages.py --extras "$(EXTRAS)"

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy --num-workers 2

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Opens from disk: build/docs/index.html. Warnings are errors, and so are links that lead nowhere.
docs: $(INSTALLED)
	rm -rf build/docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b html -d build/doctrees docs build/docs
	$(BIN)/python docs/check_site.py build/docs
	@echo build/docs/index.html

docs-serve: docs
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/docs $(or $(PORT),8000)

bench-foundation: $(INSTALLED)
	$(BIN)/python benchmarks/foundation.py

bench-analysis: $(INSTALLED)
	$(BIN)/python benchmarks/analysis.py

sweep-losses: $(INSTALLED)
	$(BIN)/python benchmarks/sweep_losses.py

# An hour of kills, full disks and flipped bits; SECONDS=60 is a short one.
soak: $(INSTALLED)
	$(BIN)/python benchmarks/soak.py --seconds $(or $(SECONDS),3600)

bench-losses: $(INSTALLED)
	$(BIN)/python benchmarks/losses.py

# What each device of a route gains: residuum without it, beside the whole.
bench-ablation: $(INSTALLED)
	$(BIN)/python benchmarks/losses.py --ablation

bench-circuits: $(INSTALLED)
	$(BIN)/python benchmarks/circuits.py

# Other packages have an environment of their own, with the same PyTorch.
bench-requirements: $(INSTALLED) build/peers/.installed
	$(BIN)/python benchmarks/requirements.py --peers build/peers/bin/python

bench-field-advice: $(INSTALLED)
	$(BIN)/python benchmarks/field_advice.py

bench-addition: $(INSTALLED) build/peers/.installed
	$(BIN)/python benchmarks/addition.py --peers build/peers/bin/python

build/peers/.installed: constraints.txt benchmarks/peers/make_environment.sh benchmarks/peers/requirements.txt
	sh benchmarks/peers/make_environment.sh $(PYTHON) build/peers
	@touch $@

bench-advice: $(INSTALLED)
	$(BIN)/python benchmarks/advice.py

bench-balancing: $(INSTALLED)
	$(BIN)/python benchmarks/balancing.py

bench-families: $(INSTALLED)
	$(BIN)/python benchmarks/families.py --pictures docs/studies

bench-study: $(INSTALLED)
	$(BIN)/python benchmarks/study.py

# LTNtorch has an environment of its own, with the same PyTorch.
bench-ltn: $(INSTALLED) build/ltn/.installed
	$(BIN)/python benchmarks/ltn_tutorials.py --ltn build/ltn/bin/python

build/ltn/.installed: constraints.txt
	$(PYTHON) -m venv build/ltn
	build/ltn/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt LTNtorch==1.0.2
	@touch $@

# seqeval has no wheel: built apart, it gets all that its build asks for, which pip leaves out otherwise.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "residuum needs Python 3.11 or newer; name one with 'make PYTHON=python3.12 ...'" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 --constraint constraints.txt --editable '.[dev]'
	@touch $@

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build
