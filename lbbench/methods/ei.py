"""GP-EI (Močkus 1975), as Hoffman, Brochu and de Freitas (2011) play it."""

from lbbench.acquisition import EI
from lbbench.methods.improvement import Improving


class GPEI(Improving):
    """Plays the largest expected improvement on f⁺."""

    improvement = EI
