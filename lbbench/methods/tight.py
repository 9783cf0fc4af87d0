"""GP-UCB with the tightest of the confidence widths."""

from lbbench.gp.data import Data
from lbbench.methods.told import Told
from lbbench.theory import tight_width


class Tight(Told):
    """GP-UCB with β_t = B + (R/√λ) √(ln det(I + K/λ) + 2 ln(1/δ)), which needs no bound on the information gain."""

    def width(self, data: Data) -> float:
        own = self.surrogate
        gain = self.posterior.information_gain
        return tight_width(own.norm, own.noise_std / data.std, own.regulariser, gain, own.delta)
