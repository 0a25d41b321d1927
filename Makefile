# Every target sets up all that it needs: a virtual environment in .venv, system packages where that
# is possible without asking.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help build demo test lint test-rust wasm test-wheel test-python wheel bench bench-link bench-ns3 \
	bench-origin fuzz docs clean study-profiler study-advice study-kills study-tcp \
	study-mptcp study-link-kills study-mechanisms study-headers study-jitter study-synthetic lantern validate validate-quick

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/\1\t\2/' | expand -t 14

$(READY): pyproject.toml scripts/venv.sh
	@scripts/venv.sh $(VENV)
	@scripts/apt.sh 'loadpath profile' chromium-headless-shell
	@touch $@

build: $(READY) ## leave the command at .venv/bin/loadpath
	@PIP_QUIET=1 $(BIN)/maturin develop --quiet --release --locked

demo: build ## load example pages over several networks and protocols
	@$(BIN)/python scripts/demo.py demo-output

test: lint test-rust wasm test-wheel test-python ## everything that CI runs

lint: build ## formatting, clippy, ruff, mypy
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff format --check --quiet python tests scripts studies
	$(BIN)/ruff check --quiet python tests scripts studies
	$(BIN)/mypy

test-rust: ## unit, packet-script and property tests of the engine
	cargo test --locked --no-fail-fast
	cargo test --locked --no-fail-fast -p loadpath-origin

wasm:
	@scripts/wasm.sh

wheel: $(READY) ## dist/loadpath-*.whl, for Python 3.11 and newer
	@rm -rf dist
	@$(BIN)/maturin build --quiet --release --locked --out dist
	@ls dist/*.whl

test-wheel: wheel
	@scripts/test-wheel.sh $(BIN)/python dist/*.whl

test-python: build ## pytest: API, command line, exports, documentation
	@scripts/apt.sh 'tests that read packet captures' tshark
	@scripts/apt.sh 'tests that draw page graphs' graphviz
	@scripts/apt.sh 'loadpath profile and its tests' chromium-headless-shell
	$(BIN)/python -m mypy.stubtest loadpath._core --allowlist tests/stubtest-allowlist.txt
	@PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/pytest

bench: ## speed; BENCH_JSON=FILE writes the numbers, too
	@scripts/bench.sh

bench-link: build ## how exact links in real time are here (needs an idle machine, minutes)
	@$(BIN)/python scripts/bench_link.py docs/validation

bench-origin: ## requests a second of the origin server on loopback (needs an idle machine, 30 s)
	@ulimit -n $$(ulimit -Hn); cargo run --quiet --release --locked -p loadpath-origin --example load

STUDIES := $(or $(LOADPATH_CACHE),$(HOME)/.cache/loadpath)/studies

study-profiler: build ## what the profiler explains of real pages of packages (hours; PROFILES=10)
	@scripts/apt.sh 'servers of the studies' nginx-light
	@$(BIN)/python studies/profile_packages.py $(STUDIES)/profiler docs/validation --profiles $(or $(PROFILES),10)

VALIDATE := $(BIN)/python studies/validate_packages.py $(STUDIES)/validation docs/validation

lantern: ## Lighthouse's simulator, to stand beside ours in `make validate` (npm)
	@npm install --silent --no-audit --no-fund --prefix $(or $(LOADPATH_CACHE),$(HOME)/.cache/loadpath)/lantern lighthouse@12.8.2

validate: build ## predicted against real load times of real pages (many hours, idle machine)
	@scripts/apt.sh 'servers of the studies' nginx-light
	@$(VALIDATE) --examples

validate-quick: build ## the same of six pages over four networks (40 minutes, idle machine)
	@scripts/apt.sh 'servers of the studies' nginx-light
	@$(VALIDATE) --quick

study-mechanisms: build ## what each mechanism is worth over the loads of `make validate` (minutes)
	@$(BIN)/python studies/mechanisms.py $(STUDIES)/validation docs/validation

study-headers: build ## how long headers are in the profiles of `make validate` (seconds)
	@$(BIN)/python studies/header_bytes.py $(STUDIES)/validation docs/validation

study-jitter: build ## by how much main-thread work differs in the profiles of `make validate` (seconds)
	@$(BIN)/python studies/work_jitter.py $(STUDIES)/validation docs/validation

study-advice: build ## advice on 20 pages of the corpus, checked (minutes; needs LOADPATH_CORPUS)
	@mkdir -p $(STUDIES)/advice
	@$(BIN)/python studies/advise.py $(STUDIES)/advice $(ADVICE)

study-tcp: build ## kernel TCP over links with exact losses against the simulation (half an hour; RUNS=3)
	@$(BIN)/python studies/tcp_alone.py $(STUDIES)/tcp-alone docs/validation -n $(or $(RUNS),3)

study-mptcp: build ## kernel MPTCP over two paths against the simulation (minutes; RUNS=5)
	@$(BIN)/python studies/two_paths.py $(STUDIES)/two-paths docs/validation -n $(or $(RUNS),5)

study-link-kills: build ## links in a row, and kill -9 of all parts of a link at random points (LINKS=50)
	@$(BIN)/python studies/link_kills.py --links $(or $(LINKS),50)

study-kills: build ## kill -9 of sweeps, Dask workers and schedulers at random points (KILLS=20)
	@$(BIN)/python studies/sweep_kills.py --kills $(or $(KILLS),20)

study-synthetic: build ## page graphs as pages for browsers, profiled again (half an hour; RUNS=3)
	@$(BIN)/python studies/synthetic_pages.py $(STUDIES)/synthetic docs/validation -n $(or $(RUNS),3)

bench-ns3: ## the same load in ns-3 and here
	@benches/ns3/run.sh

fuzz: ## each fuzz target for a minute (SECONDS_EACH)
	@fuzz/run.sh

docs: build ## generated reference; API documentation in target/doc
	$(BIN)/python scripts/reference.py docs/reference
	RUSTDOCFLAGS='-D warnings' cargo doc --quiet --workspace --no-deps --locked

clean: ## remove everything that the other targets made
	rm -rf target dist build demo-output $(VENV) .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
	find python -name '*.so' -delete
