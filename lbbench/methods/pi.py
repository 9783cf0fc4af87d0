"""GP-PI (Kushner 1964), as Hoffman, Brochu and de Freitas (2011) play it."""

from lbbench.acquisition import PI
from lbbench.methods.improvement import Improving


class GPPI(Improving):
    """Plays the largest probability of improvement on f⁺."""

    improvement = PI
