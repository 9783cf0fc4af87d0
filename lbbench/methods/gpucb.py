"""GP-UCB (Srinivas, Krause, Kakade and Seeger 2010) as Chowdhury and Gopalan (2017) play it."""

from lbbench.gp.data import Data
from lbbench.methods.told import Bounded
from lbbench.theory import gpucb_width


class GPUCB(Bounded):
    """GP-UCB with β̃_t = √(2B² + 300 γ_{t−1} ln³(t/δ)); t counts the initial design as well."""

    def width(self, data: Data) -> float:
        return gpucb_width(self.surrogate.norm, self.gamma(data), data.n + 1, self.surrogate.delta)
