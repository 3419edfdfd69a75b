"""Every sampler there is, in the order in which they are asked.

A sampler needs something of the field (`kng.core.capabilities`), and says itself what else it
refuses. The first that does not refuse is taken; Markov chains need to be named. Modules load when
they are asked: SciPy and Numba take longer to load than a median takes to draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from kng.core.capabilities import ServedLoss
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.naming import argument
from kng.core.parts import Sampler, described
from kng.core.perturbed import AdaptivePlan, PerturbedPlan
from kng.core.plan import DensityPlan, NoisePlan

Plan = DensityPlan | NoisePlan | PerturbedPlan | AdaptivePlan
P = TypeVar("P", bound=Plan)


@dataclass(frozen=True, slots=True)
class Entry:
    """A sampler's name, what it needs of the field, and where it lives."""

    name: str
    needs: str
    home: str
    certified: bool = True

    def load(self) -> Sampler[Any, Any]:
        """Return the sampler."""
        module, _, name = self.home.partition(":")
        sampler: Sampler[Any, Any] = getattr(import_module(module), name)()
        return sampler


SAMPLERS = (
    Entry("noise", "sum", "kng.samplers.exact.noise:Noise"),
    Entry("order", "line", "kng.samplers.exact.line:Order"),
    Entry("together", "walk", "kng.samplers.exact.together:Together"),
    Entry("perturbed", "smooth", "kng.samplers.exact.objective:Perturbed"),
    Entry("affine", "affine", "kng.samplers.real.affine:Affine"),
    Entry("gaussian", "quadratic", "kng.samplers.real.gaussian:Gaussian"),
    Entry("branch-and-bound", "enclosed", "kng.samplers.exact.boxes:BranchAndBound"),
    Entry("push-forward", "sloped", "kng.samplers.real.push_forward:PushForward", certified=False),
    Entry("hit-and-run", "score", "kng.samplers.chains.hit_and_run:HitAndRun", certified=False),
    Entry("metropolis", "space", "kng.samplers.chains.metropolis:Metropolis", certified=False),
)


def certified(plan: P, sampler: str = "auto") -> P:
    """Give the plan to a sampler that serves it, or refuse and name what would.

    Parameters
    ----------
    plan : Plan
        What is to be drawn.
    sampler : str
        ``"auto"``, or a sampler by name. Markov chains are never chosen, only named.
    """
    names = [entry.name for entry in SAMPLERS]
    offers = plan.offers
    fitting = [entry for entry in SAMPLERS if entry.needs in offers]
    if not isinstance(sampler, str) or sampler not in ("auto", *names):
        usable = ", ".join(repr(entry.name) for entry in fitting)
        raise SpecError(f"{argument('sampler')} must be one of 'auto', {usable}; got {sampler!r}.")
    asked = [e for e in fitting if (e.certified if sampler == "auto" else e.name == sampler)]
    refusals = []
    for entry in asked:
        found = entry.load()
        refusal = found.refusal(plan)
        if refusal is None:
            result: P = found.certify(plan)
            return result
        refusals.append(refusal)
    if refusals:
        raise IncompatibleParts(refusals[-1])
    if not fitting:
        loss, domain = plan.problem.loss, plan.problem.domain
        use = loss.served if isinstance(loss, ServedLoss) else "Use another mechanism."
        raise IncompatibleParts(
            f"No sampler draws {argument('mechanism', plan.mechanism)} of {described(loss)} from "
            f"{described(domain)}. "
            f"{use if domain.bounded else 'Use a bounded domain, such as Box.'}"
        )
    others = " or ".join(repr(entry.name) for entry in fitting)
    raise IncompatibleParts(
        f"{argument('sampler', sampler)} does not serve {argument('mechanism', plan.mechanism)} of "
        f"{described(plan.problem.loss)} here; use {others}, or leave it at 'auto'."
    )
