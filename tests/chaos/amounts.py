"""How much of it: a little, or with LBBENCH_CHAOS set to a seed the whole, drawn from that seed."""

import os

WHOLE = "LBBENCH_CHAOS" in os.environ
SEED = int(os.environ.get("LBBENCH_CHAOS", "0"))


def amount(whole, reduced):
    return whole if WHOLE else reduced
