"""Command lines as nobody should type them, most of them nearly right; and values near what settings may be."""

from hypothesis import strategies as st

from lbbench.plan.checks import CHECKS
from lbbench.plan.configs import options

RUNNING = ("run", "ablate")
OVERRIDDEN = ("show", "status", "findings")
SELECTING = ("plot", "table", "export", "report")
OWN = {
    "figure": ["1", "2", "3", "4", "time", "candidates"],
    "format": ["png", "pdf", "text", "markdown", "csv", "latex"],
    "table": ["summary", "ranks", "tests", "factors", "times"],
    "variants": ["usual", "all"],
    "to": ["there", "results/there"],
    "+experiment": [*options("experiment")],
}
TYPED = """
true false auto none mle mcmc lb random berkenkamp agnp LB A-GP-UCB fixed theory prior posterior quadrature nuts
rbf error skip d paper matern matern52 sqrt(t) t^0.25 log(t) 1/(t-3) t^ exp(exp(t)) max(2,t) t**t 9^9^9^9 ((((t
0 1 2 3 5 -1 +3 1.5 1e-6 1e6 1e308 1e309 -0.0 nan inf 0x10 1_0 007 ١٢ 99999999999999999999 1e-400 5-9 9-5
[3,7] [] [3,
${oc.env:HOME} ${ $ {a:b} [a 'a "a \\ \\' ' " , ,, = == . .. ../there /dev/null/there a/../b ~ ~nobody - --
--help -h --version
yes null ~ !!python/object:os.system # * & | ; : %s {} {0} ​ ‮ é 🙂 a\u0301
"""
WORDS = TYPED.split()
NASTY = st.one_of(
    st.sampled_from([*WORDS, "\n", "\t", "\r", "\x7f", "\x1b[31m", "a b", " "]),
    st.text(st.characters(blacklist_characters="\0"), max_size=12),
    st.text(st.sampled_from("t0123456789.+-*/^()[]{},'\"$= \n\udc80é"), max_size=16),
    st.integers().map(str),
    st.floats().map(repr),
    st.sampled_from(["a", "9", "(", "-", "t+", "é", "[1,"]).flatmap(
        lambda part: st.integers(100, 5_000).map(lambda n: part * n)
    ),
)


def valid(key):
    """Values that a setting, a group or a command's own key may have; of a setting, those that make small runs."""
    known = {
        "method": ["random", "lb", "mle"],
        "problem": ["berkenkamp"],
        "iterations": ["1", "2"],
        "seeds": ["1", "[3]"],
    }
    known |= {"jobs": ["1"], "cores_per_run": ["1"], "out": ["results", "there", "~/there"], "force": ["true"], **OWN}
    usual = [word for word in WORDS if key in CHECKS and _is_allowed(key, word)]
    return known.get(key) or [word for word in usual if not word.strip("+-").isdigit()] or usual or ["1"]


def _is_allowed(key, text):
    try:
        CHECKS[key](text)
    except Exception:  # of any kind: what kind is for the tests to say
        return False
    return True


KEYS = st.one_of(
    st.sampled_from([*CHECKS, "method", "problem", *OWN]),
    st.sampled_from(
        ["gp.kernel", "study.seeds", "method.g", "problem.dim", "gp", "methd", "Method", "name", "method.name"]
    ),
    st.sampled_from(["defaults", "hydra.run.dir", "~method", "+method", "++seeds", "study", "", "-", "--out"]),
    NASTY,
)
RIGHT = st.sampled_from([*CHECKS, "method", "problem", *OWN]).flatmap(
    lambda key: st.sampled_from(valid(key)).map(lambda value: f"{key}={value}")
)
SWEPT = st.builds(
    lambda key, values: f"{key}={','.join(values)}",
    KEYS,
    st.lists(st.one_of(NASTY, st.sampled_from(WORDS)), min_size=1, max_size=3),
)
ARGUMENT = st.one_of(RIGHT, RIGHT, SWEPT, SWEPT, st.builds("{}={}".format, KEYS, NASTY), NASTY)
SMALL = ("iterations=1", "problem=berkenkamp", "method=random", "seeds=1", "jobs=1")


def small(arguments):
    """The arguments, and what makes a run small of those that say nothing about it."""
    given = {argument.partition("=")[0].rpartition(".")[2] for argument in arguments}
    return [*arguments, *(word for word in SMALL if word.partition("=")[0] not in given)]


def line(command, arguments):
    return [command, *(small(arguments) if command in RUNNING else arguments)]


ARGUMENTS = st.lists(ARGUMENT, min_size=1, max_size=4)
LINES = st.one_of(
    st.builds(line, st.sampled_from(RUNNING), ARGUMENTS),
    st.builds(line, st.sampled_from(OVERRIDDEN), ARGUMENTS),
    st.builds(line, st.sampled_from(SELECTING), ARGUMENTS),
    st.builds(line, st.sampled_from(["list", "doctor"]), st.lists(st.one_of(NASTY, st.just("methods")), max_size=2)),
    st.lists(NASTY, max_size=3),
)
NEAR = st.sampled_from([*CHECKS]).flatmap(
    lambda key: st.tuples(st.just(key), st.one_of(NASTY, st.sampled_from(WORDS), st.sampled_from(valid(key))))
)
