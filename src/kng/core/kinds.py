"""Kinds of parts: what each must answer, asked before anything is put together."""

from __future__ import annotations

from collections.abc import Sequence

from kng.core.errors import SpecTypeError

_REMEDY = {
    "loss": "Use one of kng.losses, such as Location(Squared()).",
    "function": "Use one of kng.losses, such as Squared() or Pinball(0.5).",
    "norm": "Use one of kng.norms, such as L2().",
    "domain": "Use one of kng.domains, such as Box(-5, 5).",
    "base": "Use one of kng.bases, such as Uniform().",
    "mechanism": "Use kng.KNG(), kng.Exponential(), kng.KNorm() or kng.ObjectivePerturbation().",
}


def members(protocol: type) -> tuple[str, ...]:
    """Return what a part of this kind answers."""
    return tuple(name for name in vars(protocol) if not name.startswith("_"))


def require(part: object, kind: str, names: Sequence[str]) -> None:
    """Refuse what cannot be a part of this kind: parts are known by what they answer."""
    if isinstance(part, type):
        raise SpecTypeError(
            f"{kind} is the class {part.__name__}; make one of it, as in {part.__name__}(...)."
        )
    own = getattr(part, "__dict__", ())
    missing = [name for name in names if not hasattr(type(part), name) and name not in own]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        plain = part is None or isinstance(part, str | int | float)
        raise SpecTypeError(
            f"{repr(part) if plain else type(part).__name__} is not a {kind}: it lacks "
            f"{', '.join(missing[:3])}{more}. {_REMEDY.get(kind, '')}".rstrip()
        )
    _refuse_changed(type(part), kind, names)


def _refuse_changed(own: type, kind: str, names: Sequence[str]) -> None:
    """Refuse a caller's class that takes most of a part of ours and changes some of it.

    What it inherits, its shape, its noise or how it is read, would speak of another part than what
    it changes: Delta would be of the one and the draw of the other.
    """
    line = own.__mro__
    ours = [c for c in line if _is_ours(c) and not getattr(c, "_is_protocol", False)]
    if _is_ours(own) or not ours:
        return
    above = line[: line.index(ours[0])]
    changed = [n for n in names if any(n in vars(c) for c in above) and hasattr(ours[0], n)]
    if changed:
        raise SpecTypeError(
            f"{own.__name__} changes {', '.join(changed)} of {ours[0].__name__} and inherits the "
            f"rest, which then speaks of another {kind}. Write a class that inherits nothing."
        )


def _is_ours(own: type) -> bool:
    return own.__module__.split(".")[0] == "kng"
