"""How a mechanism over parts is planned, released and looked at, whichever mechanism it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import whole
from kng.core.lattice import Lattice
from kng.core.naming import argument
from kng.core.parts import Domain, Norm, Point, described
from kng.core.privacy import AddRemove, Neighbours, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.records import USUAL_MEMORY, Source
from kng.core.release import Fact, Release
from kng.corridor import Answer, Finish, Stage, release
from kng.data import open_source
from kng.estimators.density import Density, density_of
from kng.estimators.part_options import loss_part, norm_for, norm_part
from kng.estimators.planned import planned
from kng.estimators.posed import Asked, Posed, posed
from kng.estimators.public_facts import Columns, Kind, declared_width, resolved
from kng.estimators.public_plan import Planned
from kng.estimators.request import Request, details, domain_part, request_of, table_states
from kng.losses.linear import Linear
from kng.losses.own import TracedLoss
from kng.samplers.registry import Plan


@dataclass(frozen=True)
class Assembled:
    """A mechanism over parts: planned from public facts, released from records.

    Attributes
    ----------
    name : str
        What receipts call the mechanism.
    """

    loss: Any = None
    name: ClassVar[str]
    kind: ClassVar[Kind]
    norm: ClassVar[Any] = "auto"
    domain: ClassVar[Any] = None
    sampler: ClassVar[Any] = "auto"
    share: ClassVar[Any] = None
    centre: ClassVar[Any] = None

    def __post_init__(self) -> None:
        if self.loss is not None:
            loss_part(self.loss)
        if self.domain is not None:
            domain_part(self.domain)
        norm_part(self.norm)

    def plan(
        self,
        *,
        bounds: Any = None,
        bounds_X: Any = None,
        bounds_y: Any = None,
        epsilon: Any = None,
        n: int | None = None,
        granularity: Any = None,
        missing: Any = None,
        neighbours: str = "replace-one",
        n_max: int | None = None,
        records_per_person: int = 1,
    ) -> Planned:
        """Return what a release would be, from public facts alone; no record is read.

        Parameters
        ----------
        bounds, bounds_X, bounds_y, epsilon, granularity, missing
            As for `release`.
        n : int, optional
            The public number of records under replace-one; only predictions need it.
        neighbours, n_max, records_per_person
            As for `release`.

        Returns
        -------
        Planned
            Sensitivity, guarantee, law, sampler, assumptions and predicted error.
        """
        ask = request_of(
            epsilon=epsilon,
            neighbours=neighbours,
            n_max=n_max,
            records_per_person=records_per_person,
            ledger=None,
            random_state=None,
        )
        asked = Asked(bounds, bounds_X, bounds_y, granularity, missing)
        setting = self._posed(asked, None, ask)
        number = None if n is None else whole(n, "n", 1)
        plan = self._plan(setting, _unit(ask, number or 1), ask)
        error = self._predicted(plan, setting, number)
        return Planned(plan, setting.factor, error)

    @table_states("bounds")
    def release(
        self,
        data: Any,
        y: Any = None,
        *,
        bounds: Any = None,
        bounds_X: Any = None,
        bounds_y: Any = None,
        epsilon: Any = None,
        granularity: Any = None,
        missing: Any = None,
        neighbours: str = "replace-one",
        n_max: int | None = None,
        records_per_person: int = 1,
        ledger: Any = None,
        random_state: Any = None,
    ) -> Release:
        """Spend epsilon once and release theta.

        Parameters
        ----------
        data : array, list, series, data frame, or path of a CSV file
            One row per record: a table, or the covariates X of a linear model.
        y : array-like, optional
            The response of a linear model, beside X.
        bounds : (low, high), numbers or one array per end, or {column: (low, high)}
            Public range of a record of a table. For a linear model the columns are named, the
            target of ``Linear(..., target="y")`` among them; the others are the covariates, in
            this order.
        bounds_X, bounds_y : optional
            The same for X and y. Huber's loss needs no bounds_y.
        epsilon : number
            Privacy budget to spend.
        granularity : number or one per column, optional
            Public step of the records and of theta, for locations and distances.
        missing : number or one per column, optional
            What NaN, None and text count as; the middle of the bounds unless given.
        neighbours : {"replace-one", "add-remove"}
            Whether the number of records is public (one record replaced) or private.
        n_max : int, optional
            Public bound on the number of records under add-remove.
        records_per_person : int
            How many records one person may have; the guarantee is per person.
        ledger : Ledger or path, optional
            Account to charge before the data are read.
        random_state : int, optional
            Makes the release repeatable: a simulation. Do not publish it; ledgers reject it.

        Returns
        -------
        Release
            ``value`` is theta in the caller's units; of a linear model the intercept, if there is
            one, and the coefficients.
        """
        ask = request_of(
            epsilon=epsilon,
            neighbours=neighbours,
            n_max=n_max,
            records_per_person=records_per_person,
            ledger=ledger,
            random_state=random_state,
        )
        asked = Asked(bounds, bounds_X, bounds_y, granularity, missing)
        setting, source = self._opened(data, y, asked, ask)
        unit = ask.unit(source)
        plan = self._plan(setting, unit, ask, source.memory)
        answers, finish = self._answers(plan, setting, granularity)
        facts: dict[str, Fact] = {
            "loss": described(plan.problem.loss),
            **setting.facts,
            **({} if plan.law.norm is None else {"norm": plan.law.norm}),
            **({} if self.domain is None else {"domain": described(self.domain)}),
            **details(setting.records, unit),
        }
        answer = Answer(
            "estimate", answers, setting.scalar, setting.bounds, facts, finish, setting.units
        )
        return release([Stage([plan], source)], answer, ask.ledger, ask.bits)

    def density(
        self,
        data: Any,
        y: Any = None,
        *,
        bounds: Any = None,
        bounds_X: Any = None,
        bounds_y: Any = None,
        epsilon: Any = None,
        grid: Any,
        public: bool = False,
        granularity: Any = None,
        missing: Any = None,
        neighbours: str = "replace-one",
        records_per_person: int = 1,
    ) -> Density:
        """Evaluate the law of theta on records that are public; nothing is drawn or charged.

        The density shows the records. Use it for data that anyone may see.

        Parameters
        ----------
        data, y, bounds, bounds_X, bounds_y, epsilon, granularity, missing
            As for `release`.
        grid : int or array of shape (m, d)
            Points along each axis of a bounded domain, in one or two coordinates; or points in the
            units of the domain. Each is moved to the nearest lattice point.
        public : bool
            Must be True: the caller's word that the records are public.
        neighbours, records_per_person
            As for `release`.

        Returns
        -------
        Density
        """
        if public is not True:
            raise SpecError(
                "density shows the records themselves and no epsilon protects them; if they are "
                "public, say so by public=True. Otherwise use release."
            )
        if self.kind not in ("gradient", "value"):
            raise IncompatibleParts(
                f"{type(self).__name__} has no density that is evaluated point by point. Use KNG "
                "or Exponential."
            )
        ask = request_of(
            epsilon=epsilon,
            neighbours=neighbours,
            n_max=None,
            records_per_person=records_per_person,
            ledger=None,
            random_state=None,
        )
        asked = Asked(bounds, bounds_X, bounds_y, granularity, missing)
        setting, source = self._opened(data, y, asked, ask)
        plan = self._plan(setting, ask.unit(source), ask, source.memory)
        return density_of(plan, source, setting.factor, grid)

    def _opened(self, data: Any, y: Any, asked: Asked, ask: Request) -> tuple[Posed, Source]:
        """Refuse what cannot work, then open the data; no record is read."""
        if self.loss is not None and y is None and isinstance(self.loss, Linear):
            self._refuse_untargeted(asked)
        if y is None:
            setting = self._posed(asked, None, ask)
            self._plan(setting, _unit(ask, 1), ask)
            return setting, open_source(data, setting.named)
        if not isinstance(self.loss, Linear) or asked.bounds is not None:
            raise SpecError(
                f"y is the response of kng.losses.Linear, beside X with {argument('bounds_X')} and "
                f"{argument('bounds_y')}. A table has bounds."
            )
        from kng.data import open_regression
        from kng.estimators.array_shapes import covariates_in, names_in, response_in

        X = covariates_in(data, declared_width(asked.bounds_X))
        names = names_in(X)
        width = X.shape[1] if names is None else len(names)
        setting = self._posed(asked, Columns(width, names), ask)
        self._plan(setting, _unit(ask, 1), ask)
        return setting, open_regression(X, response_in(y), setting.records)

    def _refuse_untargeted(self, asked: Asked) -> None:
        if asked.bounds is None:
            raise SpecError(
                f"{described(self.loss)} needs a response: give X and y with "
                f"{argument('bounds_X')} and {argument('bounds_y')}, or a table with bounds and "
                "Linear(..., target='name')."
            )

    def _posed(self, asked: Asked, columns: Columns | None, ask: Request) -> Posed:
        if self.loss is None:
            raise SpecError(
                f"{type(self).__name__} has no loss; give one, as in "
                f"kng.{type(self).__name__}(kng.losses.Location(kng.losses.Squared()), ...)."
            )
        setting = posed(self.loss, self._domain(), self.kind, asked, columns)
        if isinstance(setting.loss, Linear):
            resolved(ask.epsilon, None, setting.loss.design)
        return setting

    def _domain(self) -> Domain:
        if self.domain is None:
            raise SpecError(
                f"{type(self).__name__} of {described(self.loss)} needs a domain, where theta is "
                "looked for: give one, as in domain=kng.domains.Box(-5, 5)."
            )
        domain: Domain = self.domain
        return domain

    def _plan(
        self, setting: Posed, unit: PrivacyUnit, ask: Request, memory: int = USUAL_MEMORY
    ) -> Any:
        """Weigh theta, and find a sampler that serves."""
        norm, loss = self._norm(setting, unit), setting.loss
        # Scores that are clipped to a length are clipped in the norm that measures them.
        loss = loss.in_norm(norm) if isinstance(loss, TracedLoss) else loss
        problem = Problem(
            loss, norm, setting.domain, setting.records, setting.answers, unit, memory
        )
        return planned(self._weigh(setting), problem, ask.epsilon, self.sampler)

    def _norm(self, setting: Posed, unit: PrivacyUnit) -> Norm:
        return norm_for(self.norm, setting.loss, unit, bounded=setting.domain.bounded)

    def _weigh(self, setting: Posed) -> Any:
        raise NotImplementedError

    def _answers(self, plan: Plan, setting: Posed, granularity: Any) -> tuple[Lattice, Finish]:  # noqa: ARG002
        """Return where answers live, and how they are read off what was drawn."""
        return setting.answers, partial(placed, plan)

    def _predicted(self, plan: Any, setting: Posed, n: int | None) -> Any:
        """Return the predicted error, where there is one."""


def placed(plan: Plan, drawn: Sequence[Point]) -> Point:
    """Count the lattice point that was drawn from the origin of the answers."""
    return plan.place(drawn[0])


def _unit(ask: Request, n: int) -> PrivacyUnit:
    """Return the privacy unit for a stated number of records."""
    relation: Neighbours = ReplaceOne(n)
    if ask.neighbours != ReplaceOne.name:
        relation = AddRemove() if ask.n_max is None else AddRemove(ask.n_max)
    return PrivacyUnit(relation, ask.records_per_person)
