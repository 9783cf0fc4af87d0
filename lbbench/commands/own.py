"""The keys that commands have beside those that choose traces."""

from collections.abc import Mapping

from lbbench.plan.checks import CHECKS
from lbbench.plan.configs import options
from lbbench.plan.rules import Check, choice, either, integer
from lbbench.report.figures import FORMATS
from lbbench.report.style import BANDS
from lbbench.report.tables import WRITERS
from lbbench.report.views import figures, tables

VARIANTS = choice("usual", "all")


def own_keys(command: str) -> Mapping[str, Check]:
    """The rules of a command's own keys."""
    match command:
        case "plot":
            return {"figure": choice(*figures()), "format": choice(*FORMATS), "band": choice(*BANDS)}
        case "table":
            return {"table": choice(*tables()), "format": choice("text", *WRITERS), "variants": VARIANTS}
        case "export":
            return {
                "to": CHECKS["out"],
                "force": CHECKS["force"],
                "thin": either("none", integer(at_most=1_000)),
                "+experiment": choice(*options("experiment")),
            }
        case "report":
            return {"to": CHECKS["out"], "variants": VARIANTS}
    return {}
