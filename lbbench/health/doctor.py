"""What `lbbench doctor` checks. Whatever a look at something raises is what was found, so that the others follow."""

import importlib.metadata
import json
import multiprocessing
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from lbbench.health.check import Check, faults, message
from lbbench.plan import registry
from lbbench.plan.checks import check, typed_tree
from lbbench.plan.configs import config_dir, load, options
from lbbench.plan.keys import GROUPS
from lbbench.plan.sweeps import Combination, plan
from lbbench.plan.words import pairs
from lbbench.study import machine

WORKER_GB, LOW_DISK_GB = 0.5, 1.0  # a worker of `+experiment=figure3` took up to 0.44 GB
LISTED = 5  # names of files in a line
OURS = (".parquet", ".jsonl", ".json")  # how the files of a run end
REINSTALL = "install lbbench again, with pip or by `make setup`"
ELSEWHERE = "choose another directory with out="


def where(arguments: Sequence[str]) -> Path | None:
    """The output directory that `out=` gives, if it is given. Raises `UsageError` for anything else."""
    given = pairs(arguments, ["out"])
    return Path(str(check("out", "out", given["out"]))).expanduser() if "out" in given else None


def checks(out: Path | None = None) -> Iterator[Check]:
    """Look at everything that a study needs whose traces go below `out`, which is as in configs/ if None."""
    out = out or Path(load("config")["study"]["out"]).expanduser()
    looks: dict[str, tuple[Callable[[], Iterator[Check]], str]] = {
        "versions": (_versions, REINSTALL),
        "machine": (_machine, "tell its limits by jobs= and cores_per_run="),
        "threads": (_threads, "see to the versions above, or set jobs=1"),
        "out": (partial(_output, out), ELSEWHERE),
        "files": (partial(_files, out), "see to the directory"),
        "configs": (_configs, REINSTALL),
        "data": (_data, REINSTALL),
        "objectives": (partial(_objectives, out), REINSTALL),
    }
    for name, (look, advice) in looks.items():
        try:
            yield from look()
        except Exception as error:
            yield Check(name, message(error), advice)


def _versions() -> Iterator[Check]:
    """Python and the packages, against what lbbench's own metadata ask for."""
    from packaging.requirements import Requirement

    python = importlib.metadata.metadata("lbbench")["Requires-Python"]
    asked = [Requirement(f"python{python}"), *map(Requirement, importlib.metadata.requires("lbbench") or [])]
    yield Check("lbbench", importlib.metadata.version("lbbench"))
    for one in asked:
        if one.marker and not one.marker.evaluate({"extra": "materials"}):
            continue
        try:
            found = platform.python_version() if one.name == "python" else importlib.metadata.version(one.name)
        except importlib.metadata.PackageNotFoundError:
            found = "missing"
        good = found != "missing" and one.specifier.contains(found, prereleases=True)
        command = "install Python " if one.name == "python" else "pip install "
        yield Check(one.name, found, "" if good else f"{command}'{one.name}{one.specifier}'")


def _machine() -> Iterator[Check]:
    """Processor, cores, memory and clock."""
    yield Check("processor", machine.cpu())
    threads = machine.cores_per_run("auto")
    jobs = machine.jobs("auto", threads)
    quota = machine.core_quota()
    limits = f"{machine.affine_cores()} by affinity, {'no quota' if quota is None else f'a quota of {quota:g}'}"
    yield Check("cores", f"{machine.usable_cores()} usable ({limits}): {jobs} jobs of {threads} thread(s)")
    available = machine.available_memory_gb()
    if available is not None:
        fit = int(available / WORKER_GB)
        advice = f"close other programs, or set jobs={max(1, fit)}" if fit < jobs else ""
        yield Check("memory", f"{available:.1f} GB available, of which a job takes up to {WORKER_GB} GB", advice)
    early = time.time() < Path(__file__).stat().st_mtime
    yield Check("clock", time.strftime("%Y-%m-%d %H:%M %Z"), "set it: lbbench's own files are newer" if early else "")


def _threads() -> Iterator[Check]:
    """The thread pools inside a worker."""
    threads = machine.cores_per_run("auto")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        pools = executor.submit(machine.thread_pools, threads).result()
    variables = " ".join(f"{name}={threads}" for name in machine.THREAD_VARIABLES)
    crowded = any(found > threads for _, found in pools)
    listed = ", ".join(f"{name} {found}" for name, found in pools)
    yield Check("threads", f"{listed} in a worker", f"start it as: {variables} lbbench run …" if crowded else "")


def _output(out: Path) -> Iterator[Check]:
    """Room, writing and locks where traces go, or in the directory that theirs will be made in; nothing stays there."""
    places = (out / "traces", *(out / "traces").parents)
    here = next(place for place in places if place.is_symlink() or place.exists())
    try:
        free = shutil.disk_usage(here).free / 1e9
        with tempfile.NamedTemporaryFile(dir=here) as file:
            locks = _locks_hold(file.name)
    except OSError as error:
        yield Check("out", f"{out}: {here} cannot be written to: {error.strerror}", ELSEWHERE)
        return
    yield Check("disk", f"{free:.1f} GB free at {here}", f"free some, or {ELSEWHERE}" if free < LOW_DISK_GB else "")
    advice = "" if locks else f"run one study at a time there, or {ELSEWHERE}"
    yield Check("out", f"{out} can be written to, {'locks hold' if locks else 'but file locks do not hold'}", advice)


def _locks_hold(file: str) -> bool:
    """Whether the lock of a file keeps out another."""
    import fcntl

    with open(file, "r+b") as first, open(file, "r+b") as second:  # NFS locks only what may be written
        try:
            fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return isinstance(error, BlockingIOError)
    return False


def _files(out: Path) -> Iterator[Check]:
    """What is damaged, or none of lbbench's, beside the traces of a directory, which `_objectives` reads."""
    from lbbench.health import contents

    for folder in ("journal", "failures"):
        for path, found in contents.found(out, folder):
            if isinstance(found, str):
                yield _astray(path, found, folder)
    for export in contents.exports(out):
        for _, found in contents.found(export, "traces"):
            if isinstance(found, str):
                yield Check("traces", found, "move it away, and export the runs again")
    if others := contents.foreign(out):
        names = ", ".join(path.name for path in others[:LISTED])
        more = f" and {len(others) - LISTED} more" if len(others) > LISTED else ""
        yield Check("files", f"not of lbbench, which leaves them alone: {names}{more} in {out}")


def _astray(path: Path, fault: str, folder: str) -> Check:
    return Check(folder, fault, f"move it away{'; the run is done again' if path.suffix in OURS else ''}")


def _configs() -> Iterator[Check]:
    """The files in configs/, each by itself, and then what Hydra composes of them."""
    from lbbench.plan.settings import compose

    methods, problems, presets = (list(options(group)) for group in ("method", "problem", "experiment"))
    names = ["config", *(f"method/{name}" for name in methods), *(f"problem/{name}" for name in problems)]
    alone = {name: partial(_load, name) for name in names}
    together: dict[str, Callable[[], Any]] = {
        **{f"experiment/{name}": partial(plan, [f"+experiment={name}"]) for name in presets},
        **{f"method/{name}": partial(compose, Combination(name, problems[0], {}, ())) for name in methods},
        **{f"problem/{name}": partial(compose, Combination(methods[0], name, {}, ())) for name in problems},
    }
    wrong = list(faults(alone)) or list(faults(together))
    for name, fault in wrong:
        file = f"{config_dir() / name}.yaml: "
        yield Check("configs", file + fault.removeprefix(file), f"correct it, or {REINSTALL}")
    for group in GROUPS:
        for clash in registry.clashes(group).values():
            yield Check("plug-ins", clash, "rename it in its package, or uninstall one")
    if not wrong:
        found = f"{len(methods)} methods, {len(problems)} problems, {len(presets)} presets"
        yield Check("configs", f"{config_dir()} ({found})")


def _load(name: str) -> None:
    """Read a file in configs/ and check each value in it."""
    tree = load(name)
    tree.pop("defaults", None)
    typed_tree(tree)


def _data() -> Iterator[Check]:
    """Each problem of ours as a run builds it, and its value at a point."""
    ours = [name for name in options("problem") if not registry.is_plugin("problem", name)]
    problems = [name for name in ours if "path" not in load(f"problem/{name}")]  # which is the user's
    found = dict(faults({name: partial(_evaluate, name) for name in problems}))
    for name in problems:
        yield Check("data", f"{name}: {found.get(name, 'can be evaluated')}", REINSTALL if name in found else "")


def _objectives(out: Path) -> Iterator[Check]:
    """Whether the traces at hand were played on the objectives of this installation."""
    from lbbench.health import contents
    from lbbench.plan import build
    from lbbench.plan.settings import Settings
    from lbbench.records import signatures

    runs: list[Mapping[str, Any]] = []
    for path, found in contents.found(out, "traces"):
        if isinstance(found, str):
            yield _astray(path, found, "traces")
        else:
            runs += found
    played = {json.dumps(run["settings"]["problem"], sort_keys=True): run["settings"] for run in runs}
    signed = {name: partial(build.signature, Settings(settings)) for name, settings in played.items()}
    absent = dict(faults(signed))
    here = [
        {"settings": settings, "signature": signed[name]()} for name, settings in played.items() if name not in absent
    ]
    for name, fault in absent.items():
        yield Check("objectives", f"{played[name]['problem']['name']} cannot be compared: {fault}")
    runs = [run for run in runs if json.dumps(run["settings"]["problem"], sort_keys=True) not in absent]
    differences = signatures.differing([*runs, *here])
    for difference in differences:
        yield Check("objectives", f"{difference} (one of them this installation)", "compare only runs of one kind")
    if runs and not differences:
        yield Check("objectives", f"those of the {len(runs)} traces in {out} are those of this installation")


def _evaluate(problem: str) -> None:
    import numpy as np

    from lbbench.plan import build
    from lbbench.plan.settings import compose

    built = build.problem(compose(Combination("random", problem, {}, ())))
    value = built.evaluate(built.domain.user(built.domain.uniform(1, np.random.default_rng(0)))).item()
    if value > built.optimum:
        raise ValueError(f"a value of {value}, above the maximum {built.optimum}")
