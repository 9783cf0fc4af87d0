"""What the system and control groups tell, from made-up files; thread pools in processes of their own."""

import json
import os
import subprocess
import sys

import pytest

from lbbench.study import machine

GB = 10**9
NONE_V1 = 0x7FFFFFFFFFFFF000  # what version 1 says of memory without a limit


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Writes files of /proc and /sys/fs/cgroup, by their paths there."""
    monkeypatch.setattr(machine, "PROC", tmp_path / "proc")
    monkeypatch.setattr(machine, "CONTROL_GROUPS", tmp_path / "cgroup")

    def write(contents):
        for name, content in contents.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)

    return write


@pytest.mark.parametrize(
    ("contents", "quota"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n", "cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "cgroup/cpu.max": "250000 100000\n"}, 2.5),
        ({"proc/self/cgroup": "0::/a/b\n", "cgroup/a/cpu.max": "300000 100000\n", "cgroup/a/b/cpu.max": "max 100000\n"},
         3.0),
        ({"proc/self/cgroup": "0::/a/b\n", "cgroup/a/cpu.max": "300000 100000\n",
          "cgroup/a/b/cpu.max": "50000 100000\n", "cgroup/c/cpu.max": "1000 100000\n"}, 0.5),
        ({"proc/self/cgroup": "4:memory:/m\n3:cpu,cpuacct:/job\n0::/\n", "cgroup/cpu/job/cpu.cfs_quota_us": "400000\n",
          "cgroup/cpu/job/cpu.cfs_period_us": "200000\n", "cgroup/cpu/cpu.cfs_quota_us": "-1\n",
          "cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 2.0),
        ({"proc/self/cgroup": "3:cpu:/as/the/host/sees/it\n", "cgroup/cpu/cpu.cfs_quota_us": "150000\n",
          "cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 1.5),
    ],
)  # fmt: skip
def test_the_smallest_quota_of_the_control_groups_holds(contents, quota, files, monkeypatch):
    files(contents)
    monkeypatch.setattr(machine, "affine_cores", lambda: 8)
    assert machine.core_quota() == quota
    assert machine.usable_cores() == (8 if quota is None else max(1, int(quota)))


def test_affinity_limits_cores():
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("no affinity here")
    code = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
    code += "from lbbench.study import machine; print(machine.usable_cores())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout == "1\n"


@pytest.mark.parametrize(
    ("contents", "gigabytes"),
    [
        ({}, None),
        ({"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    2000000 kB\n"}, 2.048),
        ({"proc/meminfo": "MemAvailable: 9000000 kB\n", "proc/self/cgroup": "0::/a/b\n",
          "cgroup/a/memory.max": f"{4 * GB}\n", "cgroup/a/memory.current": f"{3 * GB}\n",
          "cgroup/a/memory.stat": f"file 9\ninactive_file {GB // 2}\n",
          "cgroup/a/b/memory.max": "max\n", "cgroup/a/b/memory.current": "5\n"}, 1.5),
        ({"proc/meminfo": "MemAvailable: 9000000 kB\n", "proc/self/cgroup": "5:memory:/a\n",
          "cgroup/memory/a/memory.limit_in_bytes": f"{3 * GB}\n",
          "cgroup/memory/a/memory.usage_in_bytes": f"{2 * GB}\n",
          "cgroup/memory/a/memory.stat": f"inactive_file 0\ntotal_inactive_file {GB}\n",
          "cgroup/memory/memory.limit_in_bytes": f"{NONE_V1}\n",
          "cgroup/memory/memory.usage_in_bytes": "7\n"}, 2.0),
        ({"proc/meminfo": "MemAvailable: 1000000 kB\n", "proc/self/cgroup": "0::/\n",
          "cgroup/memory.max": f"{4 * GB}\n", "cgroup/memory.current": "0\n"}, 1.024),
    ],
)  # fmt: skip
def test_available_memory_is_the_least_that_system_and_control_groups_leave(contents, gigabytes, files):
    files(contents)
    assert machine.available_memory_gb() == (None if gigabytes is None else pytest.approx(gigabytes))


def test_the_thread_pools_of_a_process_are_limited_whatever_its_environment_says():
    code = "import json; from lbbench.study import machine; print(json.dumps(machine.thread_pools(2)))"
    environment = os.environ | dict.fromkeys(machine.THREAD_VARIABLES, "3")
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    pools = json.loads(done.stdout)
    assert {"torch"} < {name for name, _ in pools}
    assert {found for _, found in pools} == {2}
