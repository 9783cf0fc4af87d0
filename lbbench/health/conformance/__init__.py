"""What lbbench asks of a method or a problem, put to the test; for those who write their own."""

import functools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from lbbench.errors import UsageError
from lbbench.health.check import Check
from lbbench.health.conformance import methods, problems
from lbbench.health.conformance.base import STEPS, Fault
from lbbench.plan import registry
from lbbench.plan.checks import FIXED
from lbbench.plan.settings import Settings, compose
from lbbench.plan.sweeps import plan
from lbbench.records import traces
from lbbench.records.run import runs
from lbbench.study import runner


def checks(name: str, arguments: Sequence[str] = ()) -> Iterator[Check]:
    """Each thing that is asked of the method or problem of that name, with what was found; `arguments` are settings.

    Raises `UsageError` if there is none of that name, or for a setting that it does not have.
    """
    group = _group(name)
    planned = plan([f"{group}={name}", *arguments])
    if len(planned.combinations) > 1:
        raise UsageError(f"check takes one {group} with one value of each setting, not {len(planned.combinations)}")
    settings = compose(planned.combinations[0])
    tests = methods.tests_of(settings) if group == "method" else problems.tests_of(settings)
    tests["a study"] = functools.partial(_study, settings, group)
    for title, test in tests.items():
        try:
            yield Check(title, test())
        except (Exception, SystemExit) as error:
            found = str(error) if isinstance(error, Fault) else f"{type(error).__name__}: {error}"
            yield Check(title, " ".join(found.split()), "see the docstrings of Method, Step and Problem in lbbench")


def _group(name: str) -> str:
    """Whether a name is that of a method or a problem."""
    for group in registry.OURS:
        if registry.folded(name) in (registry.OURS[group] | registry.registered(group)):
            return group
    if not registry.is_target(name):
        known = [one for group in registry.OURS for one in (*registry.OURS[group], *registry.registered(group))]
        raise UsageError(f"check {name}: is no method and no problem; allowed: module:name, {', '.join(known)}")
    return "method" if "surrogate" in registry.arguments(registry.find(name)) else "problem"


def _study(settings: Settings, group: str) -> str:
    """A run as `lbbench run` has it: in a process of its own, with a journal and a trace."""
    with tempfile.TemporaryDirectory() as directory:
        other = {"problem": "method=random", "method": "problem=berkenkamp"}[group]
        own = [f"{key}={value}" for key, value in settings[group].items() if key not in FIXED]
        line = [f"{group}={settings[group]['name']}", other, f"iterations={STEPS}", "seeds=1", *own]
        planned = plan([*line, "jobs=1", f"out={directory}"])
        (run,) = runs(planned)
        runner.prepare(Path(directory))
        (outcome,) = runner.execute([run], planned.study, lambda outcome: None)
        if outcome.failure is not None:
            raise Fault(outcome.failure.reason)
        traces.read_runs(run.path)
    return "runs in a process of its own, and leaves a trace that can be read"
