"""The rank reader against brute force, on every path it can take.

Paths: everything at once (few records, public n); one pass (small lattice); two passes (cells, then
the records of the wanted ones); several windows of one pass; cells cut finer when still too many
records are left. The constants that choose among them are made small here, so that a dozen
records walk through all of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from audit.oracle import ADD, REPLACE, Setting, encoding, field_of
from hypothesis import given, settings
from hypothesis import strategies as st

from kng.core.privacy import AddRemove, Neighbours, ReplaceOne
from kng.core.records import Integers, Kernel, Selection, State
from kng.data import open_source
from kng.losses import Location, Pinball
from kng.losses.fields.ranked_line import RankField
from kng.losses.kernels import ranks as module
from kng.losses.kernels.ranks import CellCounts, Ranks, Wanted, read_ranks
from kng.mechanisms import KNG
from kng.samplers.chains.hit_and_run import HitAndRun

PLENTY = settings(max_examples=200, deadline=None, derandomize=True)
EVERYTHING = Fraction(10**9)


class Spy:
    """A source that remembers how often it was read and how much was brought home."""

    def __init__(self, records: Sequence[int], last: int) -> None:
        self._inner = open_source(np.array(records, dtype=np.float64), encoding((last,)))
        self.passes, self.brought = 0, 0

    def count(self) -> int:
        return self._inner.count()

    def reduce(self, kernel: Kernel[State]) -> State:
        self.passes += 1
        return self._inner.reduce(kernel)

    def collect(self, selection: Selection) -> Integers:
        self.passes += 1
        rows = self._inner.collect(selection)
        self.brought += len(rows)
        return rows


def force(patch: pytest.MonkeyPatch, *, small: int = 0, large: int = 2**22, cells: int = 4) -> None:
    patch.setattr(module, "_SMALL", small)
    patch.setattr(module, "_LARGE", large)
    patch.setattr(module, "_CELLS", cells)
    patch.setattr(module, "_CHUNK", 3)


def interesting(records: Sequence[int], first: int, last: int) -> list[int]:
    """Return the points where counts can change, their neighbours and the ends."""
    near = {min(max(x + e, first), last) for x in records for e in (-1, 0, 1)}
    return sorted(near | {first, last})


def check(ranks: Ranks, records: Sequence[int], first: int, last: int, wanted: Wanted) -> None:
    """Compare every answer of the reader with sorted records, wherever it may be asked."""
    ordered = sorted(records)
    n = len(ordered)
    assert ranks.total == n
    assert first <= ranks.first <= ranks.last <= last
    target = wanted.level * n
    for theta in interesting(records, first, last):
        below, upto = bisect_left(ordered, theta), bisect_right(ordered, theta)
        distance = max(below - target, target - upto, Fraction(0))
        if distance <= wanted.reach:
            assert ranks.first <= theta <= ranks.last, "a wanted point lies outside the window"
        if ranks.first <= theta <= ranks.last:
            assert ranks.counts(theta) == (below, upto)
    inside = [t for t in interesting(records, first, last) if ranks.first <= t <= ranks.last]
    inside = sorted({*inside, ranks.first, ranks.last})
    for rank in range(-1, n + 2):
        reaching = [t for t in inside if bisect_right(ordered, t) >= rank]
        assert ranks.first_reaching(rank) == (reaching[0] if reaching else ranks.last)
        lower = [t for t in inside if bisect_left(ordered, t) <= rank]
        assert ranks.first_reaching(rank + 1) == (lower[-1] if lower else ranks.first)
    many = list(range(-1, n + 2))
    assert ranks.each_reaching(many) == [ranks.first_reaching(rank) for rank in many]


def check_field(field: RankField, records: Sequence[int], reach: Fraction, last: int) -> None:
    """Compare mode, scores and level sets with brute force, up to the reach."""
    ordered, target = sorted(records), field.tau * len(records)

    def score(theta: int) -> Fraction:
        below, upto = bisect_left(ordered, theta), bisect_right(ordered, theta)
        return max(below - target, target - upto, Fraction(0))

    grid = interesting(records, 0, last)
    assert score(field.mode()) == 0 == field.score((field.mode(),))
    levels = [int(reach * k / 7 / field.unit) for k in range(8)]
    for level, ends in zip(levels, field.sublevels(levels), strict=True):
        wanted = [t for t in grid if score(t) <= level * field.unit]
        assert ends == (wanted[0], wanted[-1])
        assert all(field.score((t,)) == score(t) == field.multiple(t) * field.unit for t in wanted)


lattices = st.sampled_from([1, 2, 3, 7, 31, 100, 2**13, 2**14, 2**20, 2**44])


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[int], int]:
    """Records with many ties: few distinct values, ends and ends of cells among them."""
    last = draw(lattices)
    edges = [0, last, last // 2, (last + 1) // 4, max((last + 1) // 4 - 1, 0)]
    values = draw(st.lists(st.integers(0, last), max_size=4)) + edges
    return draw(st.lists(st.sampled_from(values), max_size=40)), last


levels = st.fractions(Fraction(1, 100), Fraction(99, 100))
reaches = st.one_of(st.fractions(0, 12, max_denominator=12), st.just(EVERYTHING))


@PLENTY
@given(
    column=columns(),
    wanted=st.lists(st.builds(Wanted, levels, reaches), min_size=1, max_size=3),
    small=st.sampled_from([0, 2**16]),
    large=st.sampled_from([0, 3, 2**22]),
    cells=st.sampled_from([1, 2, 4, 8, 2**14]),
    private=st.booleans(),
)
def test_ranks_agree_with_brute_force_on_every_path(
    column: tuple[list[int], int],
    wanted: list[Wanted],
    small: int,
    large: int,
    cells: int,
    private: bool,
) -> None:
    records, last = column
    neighbours: Neighbours = AddRemove() if private or not records else ReplaceOne(len(records))
    source = Spy(records, last)
    with pytest.MonkeyPatch.context() as patch:
        force(patch, small=small, large=large, cells=cells)
        found = read_ranks(source, neighbours, 0, last, wanted)
    assert len(found) == len(wanted)
    for ranks, item in zip(found, wanted, strict=True):
        check(ranks, records, 0, last, item)
        field = RankField(item.level, ranks)
        check_field(field, records, min(item.reach, Fraction(len(records))), last)


@PLENTY
@given(column=columns(), cut=st.tuples(st.integers(0, 50), st.integers(0, 50)), item=levels)
def test_a_window_inside_the_lattice_counts_what_lies_before_it(
    column: tuple[list[int], int], cut: tuple[int, int], item: Fraction
) -> None:
    """`_read_cells` calls itself on a part of the lattice; records lie on both sides of it."""
    records, last = column
    first = last * min(cut) // 50
    end = max(first, last * max(cut) // 50)
    wanted = Wanted(item, EVERYTHING)
    with pytest.MonkeyPatch.context() as patch:
        force(patch)
        ranks = read_ranks(Spy(records, last), AddRemove(), first, end, [wanted])[0]
    ordered = sorted(records)
    assert (ranks.first, ranks.last, ranks.total) == (first, end, len(records))
    for theta in interesting(records, first, end):
        expected = bisect_left(ordered, theta), bisect_right(ordered, theta)
        assert ranks.counts(theta) == expected


# --- each path is really taken -------------------------------------------------------------------


def uniform(n: int, last: int) -> list[int]:
    return np.random.default_rng(5).integers(0, last + 1, n).tolist()


def test_few_records_of_a_public_number_are_read_once() -> None:
    records = uniform(50, 2**30)
    source = Spy(records, 2**30)
    ranks = read_ranks(source, ReplaceOne(50), 0, 2**30, [Wanted(Fraction(1, 2), Fraction(1))])
    assert (source.passes, source.brought) == (1, 50)
    check(ranks[0], records, 0, 2**30, Wanted(Fraction(1, 2), EVERYTHING))


def test_a_small_lattice_is_counted_in_one_pass() -> None:
    records = uniform(500, 1000)
    source = Spy(records, 1000)
    ranks = read_ranks(source, AddRemove(), 0, 1000, [Wanted(Fraction(1, 2), Fraction(1))])
    assert (source.passes, source.brought) == (1, 0)
    check(ranks[0], records, 0, 1000, Wanted(Fraction(1, 2), EVERYTHING))


def test_a_large_lattice_brings_home_only_the_records_near_the_rank() -> None:
    last, records = 2**30, uniform(6_000, 2**30)
    source, wanted = Spy(records, last), Wanted(Fraction(9, 10), Fraction(25))
    ranks = read_ranks(source, AddRemove(), 0, last, [wanted])[0]
    assert source.passes == 2
    assert 50 <= source.brought < 200
    check(ranks, records, 0, last, wanted)


@pytest.mark.parametrize("gap", ["0.9", "0.501"])
def test_several_windows_share_a_pass_and_no_record_comes_home_twice(gap: str) -> None:
    last, records = 2**30, uniform(5_000, 2**30)
    wanted = [Wanted(Fraction(level), Fraction(20)) for level in ("0.5", gap, "0.1")]
    source = Spy(records, last)
    for ranks, item in zip(read_ranks(source, AddRemove(), 0, last, wanted), wanted, strict=True):
        check(ranks, records, 0, last, item)
    assert source.passes == 2
    assert source.brought < 400


def test_too_many_records_are_cut_finer_until_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the records tie; their cell is cut down to the point, where a count is enough."""
    force(monkeypatch, large=10, cells=4)
    last = 2**20
    records = [12_345] * 300 + uniform(300, last)
    source, wanted = Spy(records, last), Wanted(Fraction(1, 4), Fraction(3))
    ranks = read_ranks(source, AddRemove(), 0, last, [wanted])[0]
    assert source.passes > 4
    check(ranks, records, 0, last, wanted)


@pytest.mark.parametrize("value", [0, 1, 2**19, 2**20 - 1, 2**20])
@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_records_that_are_all_equal_never_come_home(
    value: int, relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch, large=10, cells=16)
    last, records = 2**20, [value] * 400
    neighbours = ReplaceOne(400) if relation == REPLACE else AddRemove()
    source, wanted = Spy(records, last), Wanted(Fraction(1, 3), Fraction(7))
    ranks = read_ranks(source, neighbours, 0, last, [wanted])[0]
    assert source.brought == 0
    check(ranks, records, 0, last, wanted)
    assert RankField(Fraction(1, 3), ranks).sublevels([15]) == [(value, value)]


@pytest.mark.parametrize("value", [0, 77, 2**44])
def test_equal_records_are_counted_on_the_largest_lattice(value: int) -> None:
    last, records = 2**44, [value] * 1000
    ranks = read_ranks(
        Spy(records, last), AddRemove(), 0, last, [Wanted(Fraction(1, 2), Fraction(9))]
    )[0]
    check(ranks, records, 0, last, Wanted(Fraction(1, 2), Fraction(9)))


def test_no_records_leave_the_whole_lattice_wanted() -> None:
    for last in (3, 2**20):
        ranks = read_ranks(
            Spy([], last), AddRemove(), 0, last, [Wanted(Fraction(1, 2), Fraction(5))]
        )[0]
        assert (ranks.total, ranks.first, ranks.last) == (0, 0, last)
        assert RankField(Fraction(1, 2), ranks).sublevels([0]) == [(0, last)]


def test_batches_and_order_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kng.data.work.BATCH_RECORDS", 7)
    force(monkeypatch, cells=8)
    last, records = 2**16, uniform(200, 2**16)
    wanted = [Wanted(Fraction(2, 3), Fraction(4))]
    forward = read_ranks(Spy(records, last), AddRemove(), 0, last, wanted)
    backward = read_ranks(Spy(records[::-1], last), AddRemove(), 0, last, wanted)
    assert forward == backward
    check(forward[0], records, 0, last, wanted[0])


@PLENTY
@given(column=columns(), shift=st.integers(0, 44), cut=st.integers(0, 50))
def test_cells_count_every_record_once(column: tuple[list[int], int], shift: int, cut: int) -> None:
    records, last = column
    first = last * cut // 50
    shift = max(shift, (last - first + 1).bit_length() - 10)
    kernel = CellCounts(first, last, shift)
    batch = np.array(records, dtype=np.float64).reshape(-1, 1)
    half = len(batch) // 2
    counts = kernel.merge(
        kernel.merge(kernel.zero(), kernel.partial(batch[:half])), kernel.partial(batch[half:])
    )
    ends = [first + (c << shift) for c in range(kernel.cells)] + [last + 1]
    expected = [sum(a <= x < b for x in records) for a, b in pairwise(ends)]
    before = sum(x < first for x in records)
    assert counts.tolist() == [before, *expected, sum(x > last for x in records)]


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_the_field_of_a_plan_sees_as_deep_as_its_sampler_looks(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reach asked for by the accelerator covers the plan's depth, no less."""
    force(monkeypatch, cells=64)
    last, records = 2**16, uniform(3000, 2**16)
    dataset = tuple((x,) for x in sorted(records))
    for q in ("0.01", "0.5", "0.99"):
        plan = Setting(Location(Pinball(Fraction(q))), KNG(), relation, Fraction(1), (last,)).plan(
            3000
        )
        field = field_of(plan, dataset)
        check_field(field, records, plan.score_at((0,), Fraction(plan.depth)), last)


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_a_sampler_without_a_depth_sees_every_record(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chain, or a sampler that weighs every point, has no depth; all scores are then exact."""
    force(monkeypatch, cells=64)
    last, records = 2**16, uniform(3000, 2**16)
    dataset = tuple((x,) for x in sorted(records))
    setting = Setting(Location(Pinball(Fraction(1, 4))), KNG(), relation, Fraction(1), (last,))
    plan = HitAndRun().certify(setting.plan(3000))
    assert plan.depth is None
    check_field(field_of(plan, dataset), records, Fraction(3000), last)
