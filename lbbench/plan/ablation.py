"""What `lbbench ablate` runs."""

from collections.abc import Sequence

from lbbench.errors import UsageError
from lbbench.plan import sweeps
from lbbench.plan.keys import last
from lbbench.plan.words import read

DEFAULTS = {"method": "lb,agpucb", "problem": "michalewicz", "seeds": "10"}  # the paper's ablation (Figure 4)


def plan(arguments: Sequence[str]) -> sweeps.Plan:
    """The runs of an ablation: `DEFAULTS`, unless the overrides say otherwise.

    Raises `UsageError` if no setting takes several values.
    """
    given = {last(key) for key in read(arguments)}
    if "+experiment" in given:
        raise UsageError("ablate takes no +experiment; name what to vary, such as g=t^0.25,t^0.5,t^0.75")
    usual = [f"{key}={value}" for key, value in DEFAULTS.items() if key not in given]
    planned = sweeps.plan([*arguments, *usual])
    if not planned.swept:
        raise UsageError("ablate needs a setting with several values, such as g=t^0.25,t^0.5,t^0.75")
    return planned
