"""Where the paper departs from its own theorems, each with a witness that is computed here.

For a privacy constant the witness is a pair of neighbouring datasets: the privacy loss that the
printed constant lets them have at epsilon = 1, and the loss under ours, which may not exceed 1. For
a claim that is not about privacy it is a number that contradicts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kng.reproduce.claim_errata import (
    chain_law,
    excluded_truth,
    figure_reference,
    foreign_symbols,
    improper_density,
    integrability,
    lattice_derivative,
    standard_errors,
    summed_errors,
    unit_ball,
    utility_bound,
    utility_jacobian,
)
from kng.reproduce.erratum import Erratum
from kng.reproduce.limit_errata import utility_kink, utility_measure
from kng.reproduce.objective_errata import objective_condition, objective_domain
from kng.reproduce.privacy_errata import (
    exponential_baseline,
    geometric_median,
    largest_response,
    linear_density,
    linear_density_index,
    mean_without_the_half,
    objective_boundary,
    objective_rank,
    quantile_regression_sensitivity,
    quantile_sensitivity,
)


def errata(seed: int) -> Iterator[Callable[[], Erratum]]:
    """Yield the computations, one for each departure."""
    yield quantile_sensitivity
    yield quantile_regression_sensitivity
    yield linear_density
    yield linear_density_index
    yield largest_response
    yield excluded_truth
    yield lambda: summed_errors(seed)
    yield improper_density
    yield mean_without_the_half
    yield objective_boundary
    yield objective_rank
    yield objective_condition
    yield objective_domain
    yield integrability
    yield utility_kink
    yield utility_bound
    yield utility_measure
    yield utility_jacobian
    yield exponential_baseline
    yield geometric_median
    yield lambda: chain_law(seed)
    yield lambda: standard_errors(seed)
    yield lattice_derivative
    yield unit_ball
    yield figure_reference
    yield lambda: foreign_symbols(seed)
