"""IGP-UCB (Chowdhury and Gopalan 2017, Algorithm 1)."""

from lbbench.gp.data import Data
from lbbench.methods.told import Bounded
from lbbench.theory import igpucb_width


class IGPUCB(Bounded):
    """GP-UCB with β_t = B + R √(2(γ_{t−1} + 1 + ln(1/δ))); its analysis has λ = 1 + 2/T."""

    def width(self, data: Data) -> float:
        own = self.surrogate
        return igpucb_width(own.norm, own.noise_std / data.std, self.gamma(data), own.delta)
