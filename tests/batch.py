"""Stands in for Slurm's `sbatch`, `srun`, `scancel` and `sacct`, by the name that it is called by; for tests.

Jobs are processes on this machine, at most as many at a time as the array allows. Files beside it tell of them.
"""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

COMMANDS = ("sbatch", "srun", "scancel", "sacct")


def install(folder: Path) -> None:
    """Put the commands into a folder."""
    folder.mkdir()
    for name in COMMANDS:
        (folder / name).write_text(f"#!{sys.executable}\n{Path(__file__).read_text()}")
        (folder / name).chmod(0o755)


def sbatch(here: Path, script: str) -> None:
    text, batch = Path(script).read_text(), os.getpid()
    (here / f"{batch}.sh").write_text(text)
    print(f"Submitted batch job {batch}", flush=True)
    if os.fork():
        return
    os.setsid()
    for number in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    array = re.search(r"--array=(\d+)-(\d+)%(\d+)", text)
    indices = range(int(array[1]), int(array[2]) + 1) if array else [None]
    common = {"NTASKS": "1", "JOB_NUM_NODES": "1", "NODEID": "0", "PROCID": "0", "LOCALID": "0"}

    def job(index):
        own = {} if index is None else {"ARRAY_JOB_ID": str(batch), "ARRAY_TASK_ID": str(index)}
        name = str(batch) if index is None else f"{batch}_{index}"
        if (here / f"{name}.cancelled").exists():
            return
        variables = {f"SLURM_{key}": value for key, value in {**common, **own, "JOB_ID": str(batch)}.items()}
        process = subprocess.Popen(["bash", "-c", text], env={**os.environ, **variables}, start_new_session=True)
        (here / f"{name}.pid").write_text(str(process.pid))
        process.wait()

    with ThreadPoolExecutor(int(array[3]) if array else 1) as pool:
        list(pool.map(job, indices))


def srun(here: Path, *words: str) -> None:
    """Called as `srun --unbuffered --output FILE --error FILE COMMAND …`."""
    for number, file in ((1, words[2]), (2, words[4])):
        for key, name in (("%A", "ARRAY_JOB_ID"), ("%a", "ARRAY_TASK_ID"), ("%j", "JOB_ID"), ("%t", "PROCID")):
            file = file.replace(key, os.environ.get(f"SLURM_{name}", ""))
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    os.execv(words[5], words[5:])


def scancel(here: Path, name: str) -> None:
    (here / f"{name}.cancelled").touch()
    if (pid := here / f"{name}.pid").exists():
        os.killpg(int(pid.read_text()), signal.SIGKILL)


def sacct(here: Path, *words: str) -> None:
    print("JobID|State|NodeList")


if __name__ == "__main__":
    called = Path(sys.argv[0]).absolute()
    if called.name in COMMANDS:
        globals()[called.name](called.parent, *sys.argv[1:])
