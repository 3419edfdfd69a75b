"""Marks of a picture, as SVG; colours are those of the page, by class."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH = 480.0
_LONGEST = 26


def rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Return a filled rectangle."""
    size = f"width='{max(width, 0.5):.1f}' height='{height:.1f}'"
    return f"<rect x='{x:.1f}' y='{y:.1f}' {size} class='{kind}'/>"


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return a straight line."""
    ends = f"x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}'"
    return f"<line {ends} class='{kind}'/>"


def dot(x: float, y: float) -> str:
    """Return the mark of an answer."""
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='5' class='dot'/>"


def curve(points: Sequence[tuple[float, float]], kind: str) -> str:
    """Return a line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f"<polyline points='{path}' class='{kind}'/>"


def text(x: float, y: float, words: str, kind: str = "label", anchor: str = "start") -> str:
    """Return a word or two; what is too long is cut, and whole in the tooltip."""
    shown, title = words, ""
    if len(words) > _LONGEST:
        shown, title = f"{words[: _LONGEST - 1]}…", f"<title>{escape(words)}</title>"
    at = f"x='{x:.1f}' y='{y:.1f}'"
    return f"<text {at} text-anchor='{anchor}' class='{kind}'>{escape(shown)}{title}</text>"


def picture(marks: Sequence[str], height: float, title: str) -> str:
    """Return the picture; the title is for those who do not see it."""
    return (
        f"<svg viewBox='0 0 {WIDTH:.0f} {height:.0f}' role='img' "
        f"aria-label='{escape(title)}'>{''.join(marks)}</svg>"
    )
