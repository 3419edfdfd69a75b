"""Dates as numbers: seconds since the beginning of 1970, and the days that they are.

    2024-01-31                        a date
    2024-01-31T12:30:15.25+01:00      an instant; without an offset it is taken as it stands (UTC)

Months and days have two digits, years four. Anything else is no date.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

import numpy as np

DAY = 86400
_START = date(1970, 1, 1).toordinal()
_ISO = re.compile(
    r"""(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})
    (?:[T ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})
       (?::(?P<second>[0-9]{2})(?P<fraction>[.][0-9]{1,9})?)?
       (?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?
    )?""",
    re.VERBOSE,
)


def seconds_of(text: str) -> Fraction | None:
    """Return the seconds from the beginning of 1970 to a date in ISO 8601; None if it is none."""
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    try:
        days = date(int(found["year"]), int(found["month"]), int(found["day"])).toordinal() - _START
    except ValueError:  # the 30th of February
        return None
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        return None
    total = days * DAY + hour * 3600 + minute * 60 + second - _offset(found["zone"])
    return total + Fraction(found["fraction"] or 0)


def _offset(zone: str | None) -> int:
    """Return by how many seconds a zone is ahead of UTC."""
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    ahead = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return ahead if zone[0] == "+" else -ahead


def stated_seconds(value: Any) -> Fraction | None:
    """Return a public date that a caller states, in seconds; None if it is no date.

    Dates, datetimes, NumPy's datetime64 and text in ISO 8601 are read.
    """
    if isinstance(value, np.datetime64):
        value = None if np.isnat(value) else str(value.astype("datetime64[us]"))
    elif isinstance(value, datetime):
        value = (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat()
    elif isinstance(value, date):
        value = value.isoformat()
    return seconds_of(value.strip()) if isinstance(value, str) else None


def shown_day(days: int) -> str:
    """Write a number of days since 1970 as a date; as it is beyond the years 1 to 9999."""
    try:
        return date.fromordinal(days + _START).isoformat()
    except (OverflowError, ValueError):
        return str(days)
