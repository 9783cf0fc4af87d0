"""The figures and tables of optimisation."""

from lbbench.report.views import Figure, View

GROWING = ("lb", "lnb", "agpucb")  # the methods that have a g to vary
CHOOSING = (*GROWING, "mle", "mcmc")  # those that choose length scales

VIEW = View(
    figures={
        "1": Figure("lbbench.report.figures.toy:draw"),
        "2": Figure(
            "lbbench.report.figures.lengthscales:draw",
            source="lbbench run +experiment=figure2",
            methods=CHOOSING,
            whole=True,
        ),
        "3": Figure("lbbench.report.figures.regrets:draw", source="lbbench run +experiment=figure3", banded=True),
        "4": Figure(
            "lbbench.report.figures.ablation:draw",
            source="lbbench ablate g=t^0.25,t^0.5,t^0.75",
            methods=(*CHOOSING, "oracle"),
            banded=True,
        ),
        "time": Figure("lbbench.report.figures.times:draw", source="lbbench run +experiment=figure3"),
        "candidates": Figure(
            "lbbench.report.figures.candidates:draw", source="lbbench run method=lb", methods=("lb",), whole=True
        ),
        "cumulative": Figure(
            "lbbench.report.figures.regrets:draw_cumulative",
            source="lbbench run +experiment=figure3",
            banded=True,
            long=True,  # of short runs figure 3 shows all that it does
        ),
    },
    tables=("summary", "ranks", "tests", "factors", "times"),
    tabulate="lbbench.report.summaries:tables",
    closing="lbbench.report.summaries:closing",
)
