"""The model behind an optimizer as BoTorch's."""

import numpy as np
import pytest
import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
from botorch.optim import optimize_acqf
from optimizers import DOMAINS, POOL, height, optimizer, play

from lbbench.errors import UsageError
from lbbench.integrations.botorch import model


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("minimise", [False, True])
@pytest.mark.parametrize("kernel", ["matern52", "matern32", "rbf"])
def test_it_predicts_what_the_optimizer_does(domain, minimise, kernel):
    played = optimizer(domain, minimise=minimise, kernel=kernel, regulariser=1e-3)
    play(played, 9)
    for theta in (None, 0.37, played.candidates()[-1]):
        found = model(played, theta).posterior(torch.as_tensor(POOL[:5]))
        mean, std = played.posterior(POOL[:5], theta)
        sign = -1.0 if minimise else 1.0
        np.testing.assert_allclose(found.mean[:, 0].detach(), sign * mean, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.variance[:, 0].detach().sqrt(), std, rtol=1e-5, atol=1e-7)


def test_acquisition_functions_work_with_it():
    played = optimizer(minimise=True)
    play(played, 12, lambda x: -height(x))
    bounds = torch.as_tensor([[0.0, 20.0], [10.0, 80.0]], dtype=torch.double)
    fitted = model(played, 0.4)
    for acquisition in (UpperConfidenceBound(fitted, 2.0), LogExpectedImprovement(fitted, -played.best[1])):
        x, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=2, raw_samples=32)
        played.tell(x[0].numpy(), -height(x[0].numpy()))
    assert len(played.y) == 14


def test_there_must_be_something_to_model():
    played = optimizer()
    with pytest.raises(UsageError, match="nothing has been told"):
        model(played, 0.3)
    played.tell([1.0, 30.0], 2.0)
    with pytest.raises(UsageError, match="two values"):
        model(played, 0.3)
