"""The push-forward: its certificate attacked and attained, its law, and faults that are caught.

False-alarm rate 1e-6 a test, seeds fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from samplers.envelopes import envelope_of
from samplers.laws import ALARM, p_value
from samplers.pushed import Case, quadrature, read
from samplers.test_curved import draws as drawn_from
from scipy.stats import chi2

import kng
from kng.bases import Gaussian
from kng.core.bits import SeededBits
from kng.domains import Box, L1Ball, L2Ball
from kng.losses import Expectile, Huber, Logistic, SmoothedPinball
from kng.norms import L1, L2, InterceptSup, LInf
from kng.samplers.real.envelopes import shells
from kng.samplers.real.push_forward import Pushed, PushForward, acceptance

LABELS = Case(Logistic())
# Two thirds of the envelope and two fifths of the law lie outside the shells.
MIXED = Case(Logistic(), n=60, epsilon=2, domain=Box(-2, 2))
FIVE = Case(Logistic(), n=10_000, epsilon=1, domain=Box(-5, 5), slopes=4)
CASES = {
    "logistic": LABELS,
    "outside": MIXED,
    "huber": Case(Huber(0.5), n=300, epsilon=2, domain=Box(-2, 2), bounds_y=(-2, 2)),
    "smoothed": Case(
        SmoothedPinball(0.3, 1), n=300, epsilon=2, domain=Box(-2, 2), bounds_y=(-2, 2)
    ),
    "l1": replace(LABELS, epsilon=6, norm=L1()),
    "l2": replace(LABELS, epsilon=4, norm=L2()),
    "intercept": replace(LABELS, epsilon=4, norm=InterceptSup(Fraction(3, 5))),
    "weights": replace(LABELS, epsilon=4, norm=LInf(weights=(1, 2))),
    "l1 ball": replace(LABELS, domain=L1Ball(2)),
    "l2 ball": replace(LABELS, domain=L2Ball(2)),
    "base": replace(LABELS, domain=Box(-3, 3, base=Gaussian(1))),
    "Delta(theta)": Case(Expectile(0.3), n=300, epsilon=4, domain=Box(-1, 1), bounds_y=(-2, 2)),
    "add-remove": replace(LABELS, adding=True),
    "no certificate": replace(LABELS, n=6, domain=Box(-2, 2)),
}


def ratio(pushed: Pushed, made: int, cells: int) -> tuple[float, float]:
    """Return the integral of the law by accepted proposals over that by quadrature, and its error.

    The mean acceptance is the integral over the envelope's.
    """
    accepted = np.exp([log for _, log in pushed.proposals(SeededBits(8), made)])
    assert accepted.max() <= 1 + 1e-9
    log_mass = float(np.logaddexp.reduce(pushed.log_masses))
    found = np.exp(log_mass - quadrature(pushed, 16.0, cells).log_mass) * accepted.mean()
    return float(found), float(accepted.std() / accepted.mean() / made**0.5 * found)


@pytest.mark.parametrize("name", CASES)
def test_the_envelope_is_filled_as_the_law_says(name: str) -> None:
    # Delta(theta) takes time; its law is smoother than a cell.
    found, error = ratio(CASES[name].pushed(), 500, 40 if name == "Delta(theta)" else 100)
    assert abs(found - 1) < 5 * error + 0.01


def test_data_without_a_certificate_are_drawn_from_the_domain() -> None:
    assert not len(CASES["no certificate"].pushed().shells.radii)
    assert len(CASES["outside"].pushed().shells.radii) > 10


def thetas_of(pushed: Pushed, size: int) -> np.ndarray:
    bits = SeededBits(4)
    return np.array([pushed.first_accepted(bits) for _ in range(size)])


def fit(pushed: Pushed, thetas: np.ndarray, rate: float = 1.0) -> float:
    cells = quadrature(pushed, 1e3, 160, rate)
    return p_value(cells.blocks(thetas, 10), cells.law(10))


@pytest.fixture(scope="module")
def mixed() -> tuple[Pushed, np.ndarray]:
    pushed = MIXED.pushed()
    shares = np.exp(pushed.log_masses - np.logaddexp.reduce(pushed.log_masses))
    assert 0.1 < shares[-1] < 0.9
    return pushed, thetas_of(pushed, 2000)


def test_draws_have_the_law(mixed: tuple[Pushed, np.ndarray]) -> None:
    assert fit(*mixed) > ALARM


def test_a_rate_20_percent_off_is_rejected(mixed: tuple[Pushed, np.ndarray]) -> None:
    assert fit(*mixed, rate=1.2) < ALARM
    assert fit(*mixed, rate=1 / 1.2) < ALARM


def without_the_determinant(pushed: Pushed) -> Pushed:
    """Accept noise whatever the curvature is where it leads to."""

    class Wrong(Pushed):
        def _inside(self, shell: int, bits: SeededBits) -> tuple[np.ndarray, float]:
            theta, log_accept = super()._inside(shell, bits)
            return theta, 0.0 if np.isfinite(log_accept) else log_accept

    return Wrong(**vars(pushed))


def with_heavier_shells(pushed: Pushed) -> Pushed:
    """Draw from inner shells too often."""
    middle = len(pushed.shells.radii) // 2
    added = np.where(np.arange(len(pushed.log_masses)) < middle, np.log(3.0), 0.0)
    return replace(pushed, log_masses=pushed.log_masses + added)


def without_the_outside(pushed: Pushed) -> Pushed:
    """Never draw from beyond the last shell."""
    return replace(pushed, log_masses=np.append(pushed.log_masses[:-1], -np.inf))


def with_all_of_the_domain_outside(pushed: Pushed) -> Pushed:
    """Accept points of the domain that lie in the shells, too."""

    class Wrong(Pushed):
        def _outside(self, thetas: np.ndarray) -> list[tuple[np.ndarray, float]]:
            if not len(thetas):
                return []
            sizes = self._norm.lengths(self.field.gradients(thetas))
            beyond = np.maximum(sizes - self.shells.radii[-1], 0.0)
            return list(zip(thetas, (-self.shells.rate * beyond).tolist(), strict=True))

    return Wrong(**vars(pushed))


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("fault", "size"),
    [
        (without_the_determinant, 1000),
        (with_heavier_shells, 700),
        (without_the_outside, 400),
        (with_all_of_the_domain_outside, 3000),
    ],
)
def test_planted_faults_are_caught(fault: Callable[[Pushed], Pushed], size: int) -> None:
    wrong = fault(MIXED.pushed())
    assert fit(wrong, thetas_of(wrong, size)) < ALARM


def two_sample(left: np.ndarray, right: np.ndarray, cells: np.ndarray) -> float:
    """Return the p-value of two samples' counts in cells between quantiles of both."""
    both = np.concatenate([left, right])
    cuts = [
        np.quantile(column, np.linspace(0, 1, k + 1)[1:-1])
        for column, k in zip(both.T, cells, strict=True)
    ]
    at = [np.searchsorted(cut, column) for cut, column in zip(cuts, both.T, strict=True)]
    place = np.ravel_multi_index(at, cells)
    total = np.bincount(place, minlength=int(np.prod(cells))).astype(float)
    own = np.bincount(place[: len(left)], minlength=len(total))
    kept = total >= 40
    share = len(left) / len(both)
    gap = (own - share * total)[kept] ** 2 / (share * (1 - share) * total[kept])
    return float(chi2.sf(gap.sum(), int(kept.sum()) - 1))


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("function", "wrong"),
    [(Logistic(), Fraction(36, 10)), (Huber(0.5), Fraction(25, 10))],
    ids=["logistic", "huber"],
)
def test_branch_and_bound_draws_the_same(function: object, wrong: Fraction) -> None:
    bounds = (0, 1) if isinstance(function, Logistic) else (-2, 2)
    case = Case(function, n=100, epsilon=3, domain=Box(-2, 2), bounds_y=bounds)
    pushed = case.pushed()
    own = thetas_of(pushed, 2000)

    def exact(epsilon: object) -> np.ndarray:
        plan = replace(case, epsilon=epsilon).plan("branch-and-bound")
        points = drawn_from(envelope_of(plan, case.read(plan), 2**10), 3000)
        return np.array([[float(v) for v in plan.grid.theta(point)] for point in points])

    def levels(thetas: np.ndarray) -> np.ndarray:
        return pushed.plan.problem.norm.lengths(pushed.field.gradients(thetas))[:, None]

    right, off = exact(3), exact(wrong)
    assert two_sample(own, right, np.array([6, 6])) > ALARM
    assert two_sample(levels(own), levels(right), np.array([6])) > ALARM
    assert two_sample(levels(own), levels(off), np.array([6])) < ALARM


@pytest.mark.parametrize("function", [Logistic(), Huber(1), Expectile(0.3)])
def test_scores_are_those_of_the_whole_numbers(function: object) -> None:
    bounds = (0, 1) if isinstance(function, Logistic) else (-4, 4)
    case = Case(function, n=200, slopes=3, bounds_y=bounds)
    plan, other = case.plan(), case.plan("branch-and-bound")
    field, exact = case.read(plan), case.read(other)
    streamed = replace(case, adding=True)
    stream = streamed.read(streamed.plan())
    rng = np.random.default_rng(0)
    for _ in range(20):
        point = tuple(int(v) for v in rng.integers(-(2**24), 2**24, 4))
        assert abs(field.score(point) - exact.score(point)) < 200 * Fraction(1, 2**20)
        theta = np.array([float(v) for v in plan.grid.theta(point)])
        gradient, hessian = field.curvature(theta, 0.0)
        np.testing.assert_allclose(field.gradients(theta[None, :])[0], gradient, atol=1e-9)
        np.testing.assert_allclose(stream.curvature(theta, 0.0)[1], hessian, atol=1e-9)
        moved = 1e-6 * np.eye(4)
        differences = field.gradients(theta + moved) - field.gradients(theta - moved)
        np.testing.assert_allclose(differences / 2e-6, hessian, atol=2e-2)


def boundary(pushed: Pushed, root: np.ndarray, rho: float, size: int) -> np.ndarray:
    """Return points of an ellipsoid's edge: random ones, and where the noise's corners lead."""
    d, rng = len(root), np.random.default_rng(1)
    corners = np.sign(rng.normal(size=(size, d))) @ root  # A^-1 u = root root'u
    balls = np.vstack([rng.normal(size=(size, d)), corners])
    balls /= np.sqrt((balls**2).sum(axis=1, keepdims=True))
    return pushed.centre.theta + rho * balls @ root.T


@pytest.mark.parametrize(
    "case",
    [FIVE, replace(FIVE, function=Huber(1), bounds_y=(-4, 4)), LABELS, replace(LABELS, norm=L2())],
)
def test_no_theta_beats_the_certificate(case: Case) -> None:
    """Points beyond an ellipsoid have long gradients; points of a shell have large determinants."""
    pushed = case.pushed()
    found, field, norm = pushed.shells, pushed.field, pushed.plan.problem.norm
    root = shells._root(pushed.centre.hessian)
    assert root is not None
    rho = found.reaches[:, 0] / np.sqrt(np.diagonal(found.inverse)[0])
    for k in range(0, len(found.radii), 6):
        for further in (1.0, 1.5):
            edge = boundary(pushed, root, further * rho[k], 100)
            assert norm.lengths(field.gradients(edge)).min() > found.radii[k]
        inside = boundary(pushed, root, rho[k], 10)
        for theta in inside:
            log_det = np.linalg.slogdet(field.curvature(theta, 0.0)[1])[1]
            assert log_det >= found.log_dets[k]


def test_the_certificate_is_attained_where_the_curvature_is_constant() -> None:
    """Squares: lambda = 1, the corner of the noise that t stands for has r, H is H_min."""
    case = Case(Huber(200), n=500, epsilon=200, domain=Box(-2, 2), slopes=2, bounds_y=(-2, 2))
    pushed = case.pushed()
    found, centre, field = pushed.shells, pushed.centre, pushed.field
    norm = pushed.plan.problem.norm
    rho = found.reaches[:, 0] / np.sqrt(np.diagonal(found.inverse)[0])
    signs = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], dtype=float)
    corner = max(signs, key=lambda u: float(u @ found.inverse @ u))
    delta = found.inverse @ corner
    delta /= np.sqrt(delta @ centre.hessian @ delta)
    for k in range(len(found.radii)):
        edge = field.gradients((centre.theta + rho[k] * delta)[None, :])
        assert norm.lengths(edge)[0] == pytest.approx(found.radii[k], rel=1e-6)
        log_det = np.linalg.slogdet(centre.hessian)[1]
        assert found.log_dets[k] == pytest.approx(log_det, abs=1e-9)


def test_the_acceptance_is_large_where_records_are_many() -> None:
    plan = FIVE.plan()
    assert acceptance(plan, FIVE.read(plan), SeededBits(2), 100) > 0.3


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.empty((0, 2)), np.empty(0)),
        (np.zeros((4, 2)), np.ones(4)),
        (np.linspace(-1, 1, 8).reshape(4, 2), np.array([0, 0, 1, 1])),
        (np.full((50, 2), np.nan), np.full(50, np.inf)),
        (np.repeat([[1.0, -1.0]], 9, axis=0), np.array([0, 1, 1] * 3)),
    ],
    ids=["no records", "one class", "separable", "bad cells", "all alike"],
)
def test_any_records_have_an_answer(X: np.ndarray, y: np.ndarray) -> None:
    case = Case(Logistic(), slopes=2, adding=True, epsilon=Fraction(1, 2), domain=Box(-1, 1))
    plan = case.plan()
    drawn = PushForward().draw(plan, read(plan, X, y), SeededBits(3))
    assert plan.domain.contains(drawn)


def test_it_is_taken_by_name_only_and_says_what_it_assumes() -> None:
    assert LABELS.plan("auto").certificate.sampler.name == "branch-and-bound"
    promise = LABELS.plan().certificate
    assert promise.guarantee.value == "ideal"
    assert "unbounded-time" in promise.assumptions
    assert "real-arithmetic" in promise.assumptions


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"norm": kng.norms.Polytope(facets=[[1, 1], [1, -1]])}, "cannot draw from the norm"),
        ({"function": kng.losses.Pinball(0.5)}, "does not serve mechanism='kng'"),
        ({"function": kng.losses.Squared()}, "does not serve mechanism='kng'"),
    ],
)
def test_what_it_cannot_draw_is_refused(parts: dict[str, object], says: str) -> None:
    with pytest.raises(kng.KngError, match=says):
        replace(LABELS, **parts).plan()


def test_twelve_coefficients_by_hand_and_by_estimator() -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (40_000, 11))
    beta = np.linspace(-1, 1, 11)
    y = X @ beta + 0.3 * rng.normal(size=40_000)
    model = kng.HuberRegressor(
        epsilon=3, threshold=1, bounds_X=(-1, 1), bounds_y=(-8, 8), sampler="push-forward"
    ).fit(X, y)
    assert model.release_.sampler == "push-forward"
    assert model.release_.guarantee == "ideal"
    assert np.abs(model.coef_ - beta).max() < 0.1
    labels = (y > rng.logistic(size=40_000)).astype(int)
    release = kng.KNG(
        kng.losses.Linear(Logistic()), domain=L1Ball(20), sampler="push-forward"
    ).release(X, labels, bounds_X=(-1, 1), bounds_y=(0, 1), epsilon=3)
    assert np.abs(np.array(release.value)[1:] - beta).max() < 0.4
    assert "accept" not in release.to_json()
