"""What an answer is about, in one line."""

from __future__ import annotations

from kng.core.release import Release

# They are about records, and not about a column.
_COUNTS = ("count", "proportion")


def title_of(release: Release) -> str:
    """Return the statistic, its columns, groups and condition."""
    statistic = release.statistic[:1].upper() + release.statistic[1:]
    if release.statistic == "quantile":
        one = release.details.get("quantile")
        statistic = "Quantiles" if one is None else f"{one} quantile"
    groups = "" if release.groups is None else f" by {', '.join(release.groups.columns)}"
    where = release.details.get("where")
    which = ""
    if isinstance(where, str):
        which = f", where {where.removesuffix(' (other records are absent)')}"
    return f"{statistic}{_about(release)}{groups}{which}"


def _about(release: Release) -> str:
    columns = release.bounds.columns
    if not columns or release.statistic in _COUNTS:
        return ""
    if "coefficients" not in release.details:
        return f" of {', '.join(columns)}"
    labels = release.details.get("labels")
    if isinstance(labels, str):
        return f" of {labels.removeprefix('column ')} on {', '.join(columns)}"
    *covariates, last = columns
    named = " ".join(release.names or ())
    if last in named and last != "response":
        return f" on {', '.join(columns)}"
    return (
        f" of {'the ' if last == 'response' else ''}{last} on {', '.join(covariates)}"
        if covariates
        else f" of {last}"
    )
