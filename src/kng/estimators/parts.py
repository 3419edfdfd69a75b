"""Parts as callers give them: words become parts, and what is no part is refused at once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kng.core.errors import IncompatibleParts, SpecError
from kng.core.kinds import members, require
from kng.core.parts import Base, Domain, Loss, Norm, described
from kng.core.privacy import PrivacyUnit
from kng.estimators.request import named_norm, one_of
from kng.losses.pointwise.function import Pointwise
from kng.norms import L1, L2, LInf
from kng.norms.shaped import norm_of_shape

# What a mechanism of `kng` states, whichever it is.
_MECHANISM = ("name", "loss", "norm", "domain", "sampler", "share", "centre")


def loss_part(loss: Any) -> None:
    """Refuse what cannot be a loss: it is put over records, and then answers for itself."""
    require(loss, "loss", ("over", *members(Loss)))
    if hasattr(type(loss), "pointwise"):
        require(loss.pointwise, "function", members(Pointwise))


def domain_part(domain: Any) -> None:
    """Refuse what cannot be a domain, its base measure included."""
    require(domain, "domain", members(Domain))
    require(domain.base, "base", members(Base))


def norm_part(norm: Any) -> None:
    """Refuse what is neither a norm nor the name of one."""
    named_norm(norm, {"auto": LInf(), **_named()})


def norm_for(norm: Any, loss: Any, unit: PrivacyUnit, *, bounded: bool) -> Norm:
    """Return the norm that an option names, or is; "auto" asks the loss for the shape of its ball.

    ``bounded`` says whether one Delta serves all theta.
    """
    if not isinstance(norm, str) or norm != "auto":
        return named_norm(norm, {"auto": LInf(), **_named()})
    best = getattr(loss, "best_shape", None)
    return LInf() if best is None else norm_of_shape(best(unit, bounded))


def _named() -> dict[str, Norm]:
    return {"linf": LInf(), "l2": L2(), "l1": L1()}


@dataclass(frozen=True, slots=True)
class Way:
    """How an estimator weighs theta: a mechanism by name, and what the caller states of it."""

    name: str
    norm: Any
    domain: Domain | None
    sampler: str
    share: Fraction | None = None
    centre: Any = None

    def scored(self) -> None:
        """Refuse a norm where nothing is measured in one."""
        if self.name == "exponential" and not _same(self.norm, "auto"):
            raise IncompatibleParts("mechanism='exponential' weighs the loss and has no norm.")

    def uncentred(self) -> None:
        """Refuse a centre where there is no ridge."""
        if self.centre is not None:
            raise IncompatibleParts(
                f"centre is where the ridge of objective perturbation draws to; mechanism="
                f"{self.name!r} has no ridge to centre. Use objective perturbation."
            )


def way_of(
    mechanism: Any,
    names: tuple[str, ...],
    *,
    norm: Any = "auto",
    domain: Any = None,
    sampler: Any = "auto",
    centre: Any = None,
) -> Way:
    """Read ``mechanism=``, a name or an object, beside the options that speak of the same."""
    if domain is not None:
        domain_part(domain)
    if isinstance(mechanism, str):
        one_of("mechanism", mechanism, names)
        return Way(mechanism, norm, domain, sampler, None, centre)
    require(mechanism, "mechanism", _MECHANISM)
    one_of("mechanism", mechanism.name, names)
    kind = type(mechanism).__name__
    if mechanism.loss is not None:
        raise IncompatibleParts(
            f"mechanism={kind}({described(mechanism.loss)}) brings a loss, and this estimator has "
            f"its own. Give {kind}() without one, or call {kind}(...).release."
        )
    stated = {
        "norm": (norm, mechanism.norm, "auto"),
        "domain": (domain, mechanism.domain, None),
        "sampler": (sampler, mechanism.sampler, "auto"),
        "centre": (centre, mechanism.centre, None),
    }
    found: dict[str, Any] = {}
    for name, (here, there, usual) in stated.items():
        said = [value for value in (here, there) if not _same(value, usual)]
        if len(said) > 1:
            raise SpecError(
                f"{name} is stated twice, here and in mechanism={kind}(...). State it once."
            )
        found[name] = said[0] if said else usual
    return Way(mechanism.name, share=mechanism.share, **found)


def _same(value: Any, usual: str | None) -> bool:
    """Whether an option is as it is if nobody states it; arrays have no single answer to ==."""
    return value is usual or (isinstance(value, str) and value == usual)
