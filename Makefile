# One command each: `make run` sets everything up and does the main job, `make test` sets up and tests.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: setup run test test-lowest chaos lint bench paper bandits lock clean

setup: .venv/ready

.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

run: setup
	$(BIN)/lbbench run method=lb problem=michalewicz seeds=10

test: setup
	$(BIN)/pytest

# The same with the oldest of these that pyproject.toml allows; requirements.lock has the newest.
OLD := matplotlib|numpy|pandas|pyarrow|scipy

test-lowest: .venv-lowest/ready
	.venv-lowest/bin/pytest

.venv-lowest/ready: requirements.lock pyproject.toml Makefile
	$(PYTHON) -m venv .venv-lowest
	grep -vE '^($(OLD))==' requirements.lock > .venv-lowest/requirements.txt
	sed -nE 's/^ *"($(OLD))>=([0-9.]+)",$$/\1==\2/p' pyproject.toml >> .venv-lowest/requirements.txt
	.venv-lowest/bin/pip install --quiet --requirement .venv-lowest/requirements.txt
	.venv-lowest/bin/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Kills, faults, full disks and random command lines by the hundred; prints what was lost.
chaos: setup
	LBBENCH_CHAOS=$${LBBENCH_CHAOS:-$$(date +%s)} PYTHONPATH=tests $(BIN)/pytest -p chaos.closing tests/study/test_chaos.py tests/commands/test_fuzz.py

bench: setup
	$(BIN)/pytest tests/bench --results=results/bench.json

# Exact versions from a fresh environment, to be committed after a change of dependencies.
lock:
	rm -rf .venv
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --editable '.[dev]'
	echo '# Exact versions of all that the Makefile installs; made by `make lock`.' > requirements.lock
	$(BIN)/pip freeze --exclude-editable | sed 's/^torch==.*/torch==2.13.0/' >> requirements.lock

# The paper's figures and tables into results/paper, and its findings; takes up where it was stopped.
paper: setup
	$(BIN)/lbbench run +experiment=findings
	$(BIN)/lbbench findings
	$(BIN)/lbbench export +experiment=paper to=results/paper force=true
	$(BIN)/lbbench plot out=results/paper
	$(BIN)/lbbench table out=results/paper format=markdown > results/paper/tables.md
	$(BIN)/lbbench table out=results/paper method=lb,agpucb problem=michalewicz g=t^0.25,t^0.5,t^0.75 table=summary \
	  format=markdown > results/paper/ablation.md
	$(BIN)/lbbench report out=results/paper

# The kernelised bandits into results/bandits, ten steps of a decade; takes up where it was stopped.
bandits: setup
	$(BIN)/lbbench run +experiment=bandits trials=25
	$(BIN)/lbbench export +experiment=bandits trials=25 to=results/bandits thin=10 force=true
	$(BIN)/lbbench plot out=results/bandits figure=cumulative
	$(BIN)/lbbench table out=results/bandits table=summary format=markdown > results/bandits/table.md
	$(BIN)/lbbench findings +experiment=bandits trials=25 out=results/bandits

clean:
	rm -rf .venv .venv-lowest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
