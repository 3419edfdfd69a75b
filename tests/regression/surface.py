"""What objective perturbation leaves on the surface of an l1 ball.

The minimiser is a boundary point exactly when minus the perturbed gradient lies in the normal cone
there; so what a face carries is an integral of the noise over a cone, times the Jacobian along the
face. Rays of a cone are sampled at common, public points: a sum over them is an integral as they
become dense, and a ratio of two such sums is bounded by the ratio of their terms at any spacing.

    vertex   theta = sign * radius * e_axis:  u = -gradient - m (sign e_axis + t e_other), |t| < 1
    edge     theta between two vertices:      u = -gradient - m (s_1, s_2)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np
from regression.formulas import Derivatives, length, noise_constant
from regression.setting import Array

Signs = tuple[int, int]


def vertices(dim: int, radius: float) -> Iterator[tuple[tuple[int, int], Array]]:
    """Yield (sign, axis) and the point of each vertex."""
    for sign, axis in product((1, -1), range(dim)):
        at = np.zeros(dim)
        at[axis] = sign * radius
        yield (sign, axis), at


def edges(radius: float, points: int) -> Iterator[tuple[Signs, Array]]:
    """Yield the signs of each edge of a diamond and midpoints along it."""
    tau = (np.arange(points) + 0.5) / points * 2 - 1
    for s in product((1, -1), repeat=2):
        yield s, radius / 2 * np.column_stack([s[0] * (1 + tau), s[1] * (1 - tau)])


def rays(depth: float, points: int) -> Array:
    """Return midpoints of (0, depth)."""
    return (np.arange(points) + 0.5) / points * depth


def vertex_mass(
    gradient: Array, key: tuple[int, int], rate: float, norm: str, m: Array, turns: int
) -> Array:
    """Return the mass at a vertex for rows of gradients, by sums over rays of spacing m[0] * 2."""
    (sign, axis), dim = key, gradient.shape[1]
    t = (np.arange(turns) + 0.5) / turns * 2 - 1 if dim == 2 else np.zeros(1)
    w = np.zeros((len(m), len(t), dim))
    w[..., axis] = sign * m[:, None]
    if dim == 2:
        w[..., 1 - axis] = m[:, None] * t
    area = 2 * m[0] * (m[:, None] * 2 / len(t) if dim == 2 else 1.0)
    density = np.exp(-rate * length(gradient[:, None, None] + w, norm))
    return noise_constant(dim, rate, norm) * (density * area).sum(axis=(1, 2))


def edge_density(
    gradient: Array, upper: tuple[Array, ...], s: Signs, rate: float, norm: str, m: Array
) -> Array:
    """Return the density along an edge, in arc units of (s_1, -s_2), for rows of derivatives."""
    first, mixed, second = upper
    # (s_1, -s_2) through the Hessian, then against the normal (s_1, s_2)
    along = first * s[0] - mixed * s[1], mixed * s[0] - second * s[1]
    jacobian = np.abs(along[0] * s[1] - along[1] * s[0])
    density = np.exp(-rate * length(gradient[:, None] + m[:, None] * np.array(s), norm))
    return noise_constant(2, rate, norm) * density.sum(axis=1) * 2 * m[0] * jacobian


def surface(
    derivatives: Derivatives, dim: int, radius: float, rate: float, norm: str, bins: int = 3
) -> dict[tuple[int, ...], float]:
    """Return the mass on each vertex (sign, axis) and on bins of each edge (sign, sign, bin)."""
    corners = [(key, derivatives(at[None])[0]) for key, at in vertices(dim, radius)]
    m = rays(max(float(np.abs(g).max()) for _, g in corners) + 30 / rate, 2000)
    masses: dict[tuple[int, ...], float] = {
        key: float(vertex_mass(g, key, rate, norm, m, 60)[0]) for key, g in corners
    }
    if dim == 1:
        return masses
    for s, theta in edges(radius, 150):
        line = edge_density(*derivatives(theta), s, rate, norm, m) * radius / 2 * 2 / len(theta)
        for part, value in enumerate(line.reshape(bins, -1).sum(axis=1)):
            masses[*s, part] = float(value)
    return masses


def surface_counts(
    theta: Array, radius: float, keys: Iterable[tuple[int, ...]], bins: int = 3
) -> dict[tuple[int, ...], int]:
    """Count draws on the vertices and edges; zeros of the path solver are exact."""
    found = dict.fromkeys(keys, 0)
    on = np.abs(theta).sum(axis=1) > radius * (1 - 1e-9)
    for row in theta[on]:
        active = np.flatnonzero(row)
        signs = tuple(int(v) for v in np.sign(row))
        if len(active) == 1:
            found[signs[active[0]], int(active[0])] += 1
        else:
            tau = 2 * abs(row[0]) / radius - 1
            found[(*signs, min(int((tau + 1) / 2 * bins), bins - 1))] += 1
    return found
