# make setup does all the set-up; every other target calls it first, and it is quick when nothing is missing.
PY := .venv/bin/python

.PHONY: setup browser languages run test jobs quick attack check bench golden mcp-peers screenshots lock wheel clean

setup:
	@sh .ci/setup

# What the tests of the exported player need: a headless Chromium.
browser: setup
	@sh .ci/browser

run: setup
	@.venv/bin/alita

# What the tests of tools in other languages need; the wheels stay in uv's cache.
languages: setup
	@.venv/bin/alita doctor --fix --quiet --with bash,javascript

# Everything quick, and an eighth of what starts containers, processes or apps; the next commits try the others.
# What fails beside others is tried once more, alone (tests/again.py).
test: browser languages
	@seed=--hypothesis-seed=$$(git rev-list --count HEAD); \
	$(PY) -m pytest -q -n 3 $$seed -o cache_dir=build/test-cache --cache-clear tests --ignore=tests/benchmarks || \
	$(PY) -m tests.again $$? build/test-cache $$seed

# What `make test` left out: the other seven eighths, the long walks through, odd jobs and clusters with packages of the index
# among them (the extras `dask` and `parquet` are installed). SHARE=0.2 tries a fifth; WIRE=--other-wire does each job over the other vendor's protocol.
jobs: browser languages
	@$(PY) -m pip install -q --disable-pip-version-check -e '.[dask,parquet]'
	@$(PY) -m pytest -q -n 3 --rest --share $(SHARE) tests --ignore=tests/benchmarks $(WIRE)

# The inner loop: what needs no container and no terminal, and a twentieth of what starts processes, servers or apps.
quick: setup
	@$(PY) -m pytest -q -n 2 --quick -m "not podman and not pty and not slow" tests \
	    --ignore=tests/benchmarks --ignore=tests/attack --ignore=tests/e2e

crash: setup
	@$(PY) -m tests.crash
	@$(PY) -m tests.crash --full

# What the product is attacked with; SHARE=0.1 tries a tenth, SECTIONS="drafts records" some of it.
SHARE ?= 1
attack: setup
	@$(PY) -m tests.attack --share $(SHARE) $(SECTIONS)

check: setup
	@.venv/bin/ruff check --output-format concise .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports

# SECTIONS="console sandbox" measures some of it; SECTIONS="library --data FOLDER" how well tools are found
# in a set, with "--encoder FOLDER" with a static model besides.
bench: setup
	@$(PY) -m tests.benchmarks $(SECTIONS)

golden: setup
	@$(PY) -m pytest -q --whole tests/e2e tests/app/serving/test_builds.py --record

# Clients and servers that others wrote, and the official conformance suite; node and all of them are installed into build/.
mcp-peers: setup
	@sh .ci/mcp-peers

screenshots: setup
	@$(PY) -m tests.screenshots

lock:
	@.venv/bin/uv pip compile --universal --python-version 3.11 --extra dev --generate-hashes --no-annotate --no-header -q pyproject.toml -o requirements.lock

wheel: setup
	@$(PY) -m build --wheel --outdir build/dist

clean:
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache
