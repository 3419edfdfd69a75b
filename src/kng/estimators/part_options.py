"""Parts as callers give them: words become parts, and what is no part is refused at once."""

from __future__ import annotations

from typing import Any

from kng.core.errors import SpecTypeError
from kng.core.kinds import members, require
from kng.core.parts import Loss, Norm, described
from kng.core.privacy import PrivacyUnit
from kng.estimators.request import named_norm
from kng.losses.pointwise.function import Pointwise
from kng.norms import L1, L2, LInf
from kng.norms.shaped import norm_of_shape


def loss_part(loss: Any) -> None:
    """Refuse what cannot be a loss: it is put over records, and then answers for itself."""
    if not isinstance(loss, type) and hasattr(loss, "stepped") and not hasattr(loss, "over"):
        name = described(loss)
        raise SpecTypeError(
            f"{name} is a function of a prediction and a response; put it into a model, as in "
            f"kng.losses.Location({name}) or kng.losses.Linear({name})."
        )
    if hasattr(type(loss), "trace"):  # it becomes a loss when the columns and the domain are known
        return
    require(loss, "loss", ("over", *members(Loss)))
    if hasattr(type(loss), "pointwise"):
        require(loss.pointwise, "function", members(Pointwise))


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
