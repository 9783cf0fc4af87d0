"""A pytest plugin: the closing line of `make chaos`."""

from collections import Counter

from chaos.amounts import SEED

COUNTED = ("kills", "kills between lines", "faults", "fuzz cases", "losses")


def pytest_report_header(config):
    return f"chaos: LBBENCH_CHAOS={SEED} draws the same again"


def pytest_terminal_summary(terminalreporter, exitstatus, config):
    totals = Counter()
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        for name, number in report.user_properties:
            totals[name] += number
    terminalreporter.write_line(f"chaos: {', '.join(f'{name}: {totals[name]}' for name in COUNTED)} (seed {SEED})")
