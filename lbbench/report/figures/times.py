"""Figure "time": seconds that each step took to choose its point."""

from lbbench.report.collection import Collection
from lbbench.report.figures import AS_USUAL, Options, canvas
from lbbench.report.stats import curves
from lbbench.report.variants import by_problem, shared_changes

COLUMNS = ["problem", "method", "run_id", "seed", "t", "suggest_s"]


def draw(collection: Collection, options: Options = AS_USUAL) -> list[canvas.Sheet]:
    """Median over seeds, which a busy moment does not move, with the quartiles: a panel per problem."""
    variants = collection.usual()
    if not variants:
        return []
    shared = shared_changes(variants)
    columns = by_problem(variants)
    frame = collection.read(variants, COLUMNS, thinned=True)
    table = curves(frame[frame["t"] > 0], "suggest_s")
    figure, axes = canvas.grid(1, len(columns), canvas.panels_width(len(columns)), 1.9, sharey=True)
    for panel, (problem, own) in zip(axes[0], columns.items(), strict=True):
        for variant in own:
            curve = canvas.only(table, variant)
            look = canvas.look(variant.method, curve["t"]) | {"linewidth": 0.8}
            label = variant.label(shared)
            canvas.plot_band(panel, curve, "median", curve["lower"], curve["upper"], label=label, **look)
        panel.set(title=f"{problem} ({canvas.seed_count(own)})", yscale="log")
        canvas.label_iterations(panel)
    axes[0, 0].set_ylabel("seconds per step")
    canvas.add_legend(figure, "median and quartiles over n seeds", shared)
    return [canvas.Sheet("time", figure, variants)]
