"""How numbers are written in a file: the decimal mark, the thousands mark, and symbols around them.

    written  = around sign? around number around        around = blanks and symbols
    number   = as in `kng.data.text.text_numbers`, with this decimal mark,
             | groups (decimal mark digits?)? (e sign? digits)?
    groups   = 1 to 3 digits, then groups of 2 or 3 with the mark before each, the last one of 3

"$1,234.50", "1.234,5 €", "5 %" and "12,34,567" (in lakhs) are numbers if the marks and symbols are
declared. "1,5" with a comma for thousands is none: it would be 15. A percent sign is passed over,
it does not divide by 100. What does not fit is missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from math import nan

from kng.core.errors import SpecError
from kng.core.naming import argument

# Marks that look alike are read alike.
_NO_BREAK = ("\u00a0", "\u202f")
_ALIKE = (frozenset((" ", *_NO_BREAK)), frozenset(("'", "\u2019")))
_THOUSANDS = ("", ",", ".", " ", "'", "\u2019", *_NO_BREAK)
_BLANKS = rb"[ \t-\r]*+"
_DIGITS = rb"[0-9](?:_?[0-9])*+"
_WORDS = rb"(?:[iI][nN][fF](?:[iI][nN][iI][tT][yY])?+|[nN][aA][nN])"


@dataclass(frozen=True)
class Notation:
    """How numbers are written.

    Parameters
    ----------
    decimal : {".", ","}
        The decimal mark.
    thousands : {"", ",", ".", " ", "'"}
        The mark between groups of digits. A space stands for no-break spaces as well.
    symbols : tuple of str
        What may stand before or after a number and is passed over: currencies, units, percent.
    """

    decimal: str = "."
    thousands: str = ""
    symbols: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        symbols = (self.symbols,) if isinstance(self.symbols, str) else tuple(self.symbols)
        object.__setattr__(self, "symbols", symbols)
        if self.decimal not in (".", ","):
            raise SpecError(f"{argument('decimal')} must be '.' or ',', got {self.decimal!r}.")
        if self.thousands not in _THOUSANDS or self.thousands == self.decimal:
            raise SpecError(
                f"{argument('thousands')} must be '', ',', '.', ' ' or \"'\", and not the decimal "
                f"mark, got {self.thousands!r}."
            )
        for symbol in self.symbols:
            if not isinstance(symbol, str) or not self._serves(symbol):
                raise SpecError(
                    f"{symbol!r} cannot be a symbol around numbers: it must have no digit, sign, "
                    "space, quote or mark, and must not begin 'infinity' or 'nan'."
                )

    def _serves(self, symbol: str) -> bool:
        """Whether a symbol can be told from what a number is made of."""
        forbidden = {*'0123456789+-_"', self.decimal, *self.marks}
        return (
            symbol != ""
            and symbol.isprintable()
            and not forbidden & {*symbol}
            and not any(c.isspace() for c in symbol)
            and not any(word.startswith(symbol.lower()) for word in ("infinity", "nan"))
        )

    @property
    def point(self) -> int:
        """The decimal mark as a byte."""
        return ord(self.decimal)

    @property
    def marks(self) -> tuple[str, ...]:
        """All thousands marks that look like the declared one."""
        alike = next((group for group in _ALIKE if self.thousands in group), {self.thousands})
        return tuple(sorted(alike - {""}))

    @property
    def plain(self) -> bool:
        """Whether numbers have neither thousands marks nor symbols."""
        return not self.thousands and not self.symbols

    @property
    def around(self) -> tuple[str, ...]:
        """What is passed over beside blanks, the longest first."""
        spaces = () if self.plain else _NO_BREAK
        return tuple(sorted({*self.symbols, *spaces}, key=lambda s: (-len(s.encode()), s)))

    def read(self, cell: bytes) -> float:
        """Return the number in a cell, NaN if there is none: what the compiled loops follow."""
        found = self._pattern.fullmatch(cell)
        if found is None:
            return nan
        whole, rest = found["whole"] or b"", found["rest"] or b""
        for mark in self.marks:
            whole = whole.replace(mark.encode(), b"")
        rest = rest.replace(self.decimal.encode(), b".")
        return float(found["sign"] + (found["word"] or whole + rest))

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        """The grammar; no part of it takes back what it has read."""
        point = re.escape(self.decimal.encode())
        passed = rb"(?:%b%b)*+" % (_one_of(self.around), _BLANKS) if self.around else b""
        whole = _DIGITS
        if self.marks:
            mark = _one_of(self.marks)
            middle = rb"(?:%b[0-9]{2,3}+(?=%b[0-9]))*+" % (mark, mark)
            whole = rb"(?:[0-9]{1,3}+%b%b[0-9]{3}+(?![0-9_])|%b)" % (middle, mark, whole)
        number = rb"(?=%b?[0-9])(?P<whole>%b)?+(?P<rest>(?:%b(?:%b)?+)?+(?:[eE][+-]?%b)?+)" % (
            *(point, whole, point, _DIGITS, _DIGITS),
        )
        signed = rb"(?P<sign>[+-]?)%b(?:(?P<word>%b)|%b)" % (passed, _WORDS, number)
        return re.compile(_BLANKS + passed + signed + _BLANKS + passed)


PLAIN = Notation()


def _one_of(texts: tuple[str, ...]) -> bytes:
    """Return a pattern of one of these texts, the first that fits."""
    return rb"(?>%b)" % b"|".join(re.escape(text.encode()) for text in texts)
