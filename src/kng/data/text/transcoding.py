"""Text of any encoding as UTF-8, as a stream, never raising.

A record must not change how its neighbours are read. So UTF-8 is passed on as it is, bad bytes and
all; an encoding of one byte a character is looked up byte by byte; UTF-16 and UTF-32 are read unit
by unit; and any other (Shift JIS, GB 18030, ISO 2022, UTF-7) starts anew in every line. What is no
character becomes U+FFFD.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Iterator

from kng.core.errors import SpecError
from kng.core.naming import argument
from kng.data.text.text_lines import whole_lines

Pieces = Iterator[bytes]

# Lines that are no records.
_BLANK = ("", "\r")

_AS_IT_IS = ("utf-8", "utf-8-sig", "ascii")
_WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
# They read escapes, warn of them, raise on content, or mean something else on each machine.
_UNFIT = ("unicode-escape", "raw-unicode-escape", "idna", "punycode", "undefined", "mbcs", "oem")


def transcoder(encoding: str, end: bytes) -> Callable[[Pieces], Pieces]:
    """Return what makes UTF-8 of pieces in an encoding whose lines end so."""
    try:
        codec = codecs.lookup(encoding)
        name = codec.name.replace("_", "-")
        if name in _UNFIT or not codec._is_text_encoding:
            raise LookupError
    except (LookupError, TypeError, ValueError):
        raise SpecError(
            f"{argument('encoding')} {encoding!r} is not one that files are read in. Give one of "
            "Python's text encodings, such as 'utf-8', 'latin-1', 'cp1252' or 'utf-16'."
        ) from None
    if name in _AS_IT_IS:
        return lambda pieces: pieces
    if name in _WIDE:
        return lambda pieces: _units(pieces, codec)
    if name == "iso8859-1" or _has_table(codec):
        return lambda pieces: (_utf8(piece.decode(name, "replace")) for piece in pieces)
    return lambda pieces: _lines(pieces, name, end)


def _has_table(codec: codecs.CodecInfo) -> bool:
    """Whether every byte is a character by itself."""
    module = sys.modules.get(getattr(codec.incrementaldecoder, "__module__", ""))
    return isinstance(getattr(module, "decoding_table", None), str)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # a surrogate is no character


def _units(pieces: Pieces, codec: codecs.CodecInfo) -> Pieces:
    """Decode as a stream: a character may be cut by the end of a piece."""
    assert codec.incrementaldecoder is not None
    decoder = codec.incrementaldecoder("replace")
    for piece in pieces:
        yield _utf8(decoder.decode(piece))
    yield _utf8(decoder.decode(b"", True))


def _lines(pieces: Pieces, name: str, end: bytes) -> Pieces:
    """Decode every line by itself, so that no shift or cut character reaches the next one."""
    for block in whole_lines(pieces, end):
        yield end.join(_line(line, name, end) for line in block.split(end))


def _line(line: bytes, name: str, end: bytes) -> bytes:
    try:
        text = line.decode(name, "replace")
    except Exception:  # no codec should, and no record may tell
        text = "\ufffd"
    if text in _BLANK and line.decode("latin-1") not in _BLANK:
        text = "\ufffd"  # escapes and no text: still a record
    return _utf8(text).replace(end, b" ")
