"""The exact posterior of a GP with one length scale, kept up to date as data arrive.

Both posteriors are lazy views of a `Data`: `update` takes in, as one block, whatever has been observed since the last
call, so a length scale that is not in use costs nothing. Means and standard deviations are in standardised units and
of the latent function; K + λI is the regularised kernel matrix.
"""

from typing import Protocol

from lbbench.domain import Array, Points, Pool
from lbbench.errors import NumericalError
from lbbench.gp.box import BoxPosterior
from lbbench.gp.data import Data
from lbbench.gp.joint import Joint
from lbbench.gp.kernels import Kernel
from lbbench.gp.pool import PoolPosterior

SHORTEST, LONGEST = 1e-100, 1e100  # length scales whose squares, and those of distances by them, are numbers


class Posterior(Protocol):
    """What a method and an acquisition function need of a posterior."""

    lengthscale: float
    information_gain: float  # ½ ln det(I + K/λ) on the data seen, in nats
    jitter: float  # the largest jitter that any update needed

    def update(self) -> None:
        """Take in everything observed since the last update."""

    def predict(self, points: Points) -> tuple[Array, Array]:
        """Posterior mean and standard deviation at k points, both `(k,)`."""

    def joint(self, points: Points) -> Joint:
        """The joint distribution of the values at k points."""


def posterior(data: Data, kernel: Kernel, lengthscale: float, regulariser: float) -> BoxPosterior | PoolPosterior:
    """The up-to-date posterior for the data's kind of domain.

    Raises `NumericalError` if the length scale is beyond what can be computed with.
    """
    if not SHORTEST <= lengthscale <= LONGEST:
        raise NumericalError(f"the length scale {lengthscale:.4g} is not between {SHORTEST:g} and {LONGEST:g}")
    kind = PoolPosterior if isinstance(data.domain, Pool) else BoxPosterior
    fitted = kind(data, kernel, lengthscale, regulariser)
    fitted.update()
    return fitted
