"""What the page of life cycles shows, and what its pictures are stored as.

Each row has `part` (collection and application, empty when there is one), `system`, `strategy`
where there is one, `score`, `value`, `lower`, `upper`, and

- `kind` `cell`: `version`, `learnt` (its time; empty for the initial one), `time`, `at` (the time
  as a number), `state` (base, adapted, impaired, corrected, penalised), `seen` (whether the time
  lies in the window of the version);
- `kind` `weight`: `policy`, `version`, `time`; the value is P(t_j);
- `kind` `policy`: `policy`, `version`, `state` (the measure), `reference` (the initial version in
  the same window);
- `kind` `lifelong set`: `version` that came of the data, `state`;
- `kind` `learning curve`: `cost` and its `unit`; one of `area` has the largest cost.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from truecost.core.captions import title_of
from truecost.names import PARTS
from truecost.report.declared import Naive, Page
from truecost.report.resampled import resampled_of
from truecost.report.sections import comparison, gates, subsets
from truecost.report.story import Story
from truecost.tasks.lifelong.descriptions import LifelongDescription
from truecost.tasks.lifelong.help_sections import (
    against_cost,
    forgetting,
    lifelong_set,
    with_penalty,
)
from truecost.tasks.lifelong.newest_rows import main_of, newest, nothing_drawn
from truecost.tasks.lifelong.sections import across_time, how_it_adds_up, under_policies
from truecost.tasks.lifelong.verdict import about_lives, titles, verdict

if TYPE_CHECKING:
    import polars as pl

    from truecost.study import Outcome, ResultFile
    from truecost.tasks.lifelong.descriptions import Figure


TEXTS = ("part", "system", "strategy", "score", "kind", "version", "time", "state", "policy")


NUMBERS = ("learnt", "at", "value", "lower", "upper", "naive", "cost")


Cells = dict[str, Any]


def frame_of_lives(result: "ResultFile | Outcome") -> "pl.DataFrame | None":
    """What `curves.parquet` holds of systems across time.

    Parameters
    ----------
    result : ResultFile or Outcome
        Of any task.

    Returns
    -------
    polars.DataFrame or None
        None where no system was followed across time.
    """
    import polars as pl

    if not result.described_as(LifelongDescription):
        return None
    cells = [
        {**_about(d), **cell}
        for d in result.described_as(LifelongDescription)
        for of in (_matrix, _weights, _policies, _sequence, _curve)
        for cell in of(d)
    ]
    schema: dict[str, Any] = dict.fromkeys(TEXTS, pl.String())
    schema |= {"unit": pl.String(), "seen": pl.Boolean()}
    schema |= dict.fromkeys(NUMBERS, pl.Float64())
    return pl.DataFrame(cells, schema=schema)


def _about(found: "LifelongDescription") -> Cells:
    """Whose figures a row holds."""
    dims = found.dims
    return {
        "part": title_of({name: dims[name] for name in PARTS if name in dims}),
        "system": dims.get("system", ""),
        "strategy": dims.get("strategy"),
        "score": found.score,
    }


def _figures(of: "Figure") -> Cells:
    return {"value": of.value, "lower": of.lower, "upper": of.upper}


def _matrix(found: "LifelongDescription") -> Iterator[Cells]:
    """Every version at every time, in every state."""
    learnt = dict(zip(found.versions, found.learnt, strict=True))
    at = dict(zip(found.times, found.at, strict=True))
    for c in found.cells:
        where = {"version": c.version, "time": c.time, "state": c.state, "seen": c.seen}
        when = {"learnt": learnt.get(c.version), "at": at.get(c.time)}
        yield {"kind": "cell", **where, **when, **_figures(c)}


def _weights(found: "LifelongDescription") -> Iterator[Cells]:
    """The weight of every time for every version, under every policy."""
    for policy in found.policies:
        for version, weights in zip(found.versions, policy.weights, strict=False):
            for time, weight in zip(found.times, weights, strict=True):
                where = {"policy": policy.name, "version": version, "time": time}
                yield {"kind": "weight", **where, "value": weight}


def _policies(found: "LifelongDescription") -> Iterator[Cells]:
    """What every version comes to under every policy."""
    for policy in found.policies:
        for of in policy.figures:
            where = {"policy": policy.name, "version": of.version, "state": of.measure}
            yield {"kind": "policy", **where, **_figures(of), "naive": of.naive}


def _sequence(found: "LifelongDescription") -> Iterator[Cells]:
    """The scores on the lifelong set."""
    for of in found.stream:
        yield {"kind": "lifelong set", "version": of.version, "state": of.state, **_figures(of)}


def _curve(found: "LifelongDescription") -> Iterator[Cells]:
    """The score against the cost of help, and the area under it."""
    if found.curve is None:
        return
    unit = {"unit": found.curve.cost}
    for point in found.curve.points:
        yield {"kind": "learning curve", "cost": point.cost, **unit, **_figures(point)}
    yield {"kind": "area", "cost": found.curve.maximum, **unit, **_figures(found.curve.area)}


def main(story: Story) -> str:
    """Label of the measure that the page speaks of."""
    return main_of(story.whole or story.rows)


def frozen(measure: str) -> str:
    """What systems are held against."""
    del measure
    return "the initial version, kept frozen"


PAGE = Page(
    sections=(
        *(under_policies, across_time, how_it_adds_up, with_penalty, forgetting),
        *(lifelong_set, against_cost, subsets, comparison, gates),
    ),
    main=main,
    titles=titles,
    lead=about_lives,
    verdict=verdict,
    newest=newest,
    drawn=nothing_drawn,
    named=("version",),
    resampled=resampled_of,
    naive=Naive(column="reference", said="", output=frozen),
    curves=frame_of_lives,
)
