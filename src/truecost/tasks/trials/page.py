"""The page of trials: normalised costs, methods, spurious correlations.

Their rows are recognised by their signature. A cost below the naive one, good news of a system, is
bad news of such a predictor.
"""

from collections.abc import Sequence
from dataclasses import replace

from truecost.core.claims import SingleRuns
from truecost.core.digits import percent
from truecost.core.results import Row
from truecost.core.variance import Variance
from truecost.pictures.tables import by_measure
from truecost.report.section import Group, Line, Section, joined
from truecost.report.sections import comparison, gates, of_each, runs, spending, subsets
from truecost.report.story import Naive, Page, Story, mean_rows, part_of, without_dims
from truecost.report.verdict import difference_line, groups_of, lead_of
from truecost.report.verdict import line_of as verdict_line_of
from truecost.report.words import (
    against_naive,
    at_best,
    caveats,
    counts,
    listed,
    measure_of,
    system_of,
    value,
)
from truecost.tasks.trials import pictures
from truecost.tasks.trials.curves import frame_of_outcome
from truecost.tasks.trials.methods import Claim
from truecost.tasks.trials.options import Chosen, ends_of, limit_state
from truecost.tasks.trials.sections import calibration, classes, costs_of_decisions, trade_off

TITLE = "Spurious correlations"
MARK = "|predicted:"  # in the signature of a predictor's rows
JUDGED = ("nce", "nec")  # the first that there is decides
CHIPS = {
    "better": ("bad", "predicts the class"),
    **dict.fromkeys(("worse", "same", "inconclusive"), ("open", "nothing found")),
}
LOOKS = {"better": "good", "worse": "bad"}  # of a verdict; others leave it open


def is_predictor(row: Row) -> bool:
    """Whether a row is of a predictor that knows only what should not tell the class."""
    return MARK in row.signature


def line_of(row: Row) -> Line:
    """The meaning of a predictor's value for the data."""
    look, chip = CHIPS.get(against_naive(row), ("open", "inconclusive"))
    if row.outside:
        chip = "no conclusion"
    more = f"{counts(row)}. It does not use the content."
    if beware := caveats(row):
        more += f" But {beware}."
    return Line(look, chip, system_of(row), value(row), more)


def spurious(story: Story) -> Section | None:
    """Predictors and systems by the measure that is judged, and how systems do beside them."""
    predicted = [r for r in story.whole if is_predictor(r)]
    labels, names = {r.label for r in predicted}, {r.dims["system"] for r in predicted}
    label = next((name for name in JUDGED if name in labels), story.main)
    if label not in labels:
        return None
    rows = [r for r in story.whole if r.label == label]
    parts = {part: [r for r in rows if part_of(r) == part] for part in story.parts}
    told = [(r, line_of(r)) for r in rows if is_predictor(r)]
    told += [
        (pair[0], difference_line(*pair))
        for pair in story.pairs
        if pair[0].label == label and pair[0].baseline in names and "subset" not in pair[0].dims
    ]
    lines = [
        replace(line, name=f"{part.name}: {line.name}")
        for part in parts
        for row, line in told
        if part_of(row) == part and len(parts) > 1  # else they stand in the verdict
    ]
    text = (
        f"A predictor uses the characteristics in its name and nothing of the content. If {label} "
        f"is below 1, the class can be predicted without the content, and a system may have learnt "
        f"this. A value of 1 or more does not prove that there is no correlation."
    )
    found = {part.name: [without_dims(r) for r in own] for part, own in parts.items()}
    return Section(TITLE, text, of_each(pictures.cost_bars, found), lines=tuple(lines))


MOST_BARS = 16  # of one picture; more are drawn by application


def main_of(story: Story) -> str:
    """Label of the measure that a page of trials speaks of.

    The first cost whose naive value is 1 (a minimum only when its actual cost is not there), then
    the first with any naive value (one that judges decisions before one that judges the order of
    scores), then the first.
    """
    labels = list(dict.fromkeys(r.label for r in story.whole))
    dropped = {least for actual, least in pictures.minima().items() if actual in story.costs}
    costs = sorted((c for c in story.costs if c not in dropped), key=at_best)
    known = [r.label for r in story.whole if r.naive is not None]
    judged = [name for name in known if not at_best(name)]
    return next(iter([*costs, *judged, *known, *labels, *(r.label for r in story.rows)]), "")


def titles(story: Story) -> tuple[str, str] | None:
    """Title and heading where the data are judged and no system is; None otherwise."""
    if story.values and all(map(is_predictor, story.values)):
        return TITLE, TITLE
    return None


def line(_: Story, row: Row) -> Line:
    """The verdict on one system, method or predictor."""
    if is_predictor(row):
        return line_of(row)
    if row.dims.get("estimator") == "run":  # its counts stand with the mean
        return replace(verdict_line_of(row), more="what one more run would give")
    return verdict_line_of(row)


def remarks(story: Story) -> list[str]:
    """The remarks without claims where these have a section of their own."""
    below = ("claim", "single runs") if story.described_as(Claim) else ()
    return [text for text in story.result.remarks if not text.startswith(below)]


def bars(story: Story) -> Section | None:
    """Actual and minimum normalised costs; one picture, or one an application."""
    if story.described_as(Chosen):
        return None
    rows = [r for r in mean_rows(story.whole) if r.label in story.costs and not is_predictor(r)]
    rows = [r for r in rows if r.naive == 1 or r.value is None]
    # Costs of one kind together, and the collections of an application side by side.
    rows.sort(key=lambda r: story.systems.index(r.dims["system"]))
    rows.sort(key=lambda r: (story.costs.index(r.label), story.parts.index(part_of(r))))
    rows = list({(r.label, *r.dims.items()): r for r in _bound(rows)}.values())
    pairs = [pair for own in pictures.pairs_of(rows).values() for pair in own]
    groups = {"": rows}
    if len(pairs) > MOST_BARS and any("application" in r.dims for r in rows):
        groups = {}
        for row in rows:
            own = groups.setdefault(row.dims.get("application", "in every application"), [])
            own.append(without_dims(row, ("application",)))
    text = "Means over runs. " if any("estimator" in r.dims for r in story.whole) else ""
    alone = [actual.label for actual, minimum in pairs if minimum is None]
    if best := [name for name in dict.fromkeys(alone) if at_best(name)]:
        verb = "is" if len(best) == 1 else "are"
        text += f"Even with random scores, {listed(best)} {verb} below 1. "
    if len(alone) < len(pairs):
        text += "The minimum is the cost at the best threshold or calibration for these data."
    return Section("Normalised costs", text.strip(), of_each(pictures.cost_bars, groups))


def _bound(rows: Sequence[Row]) -> list[Row]:
    """Rows without their estimator, and their application where that does not enter the value:
    neither by the measure, nor by a calibration of its own.
    """

    def free(row: Row) -> Row:
        return without_dims(row, ("estimator", "application"))

    values: dict[tuple[object, ...], set[float | None]] = {}
    for row in rows:
        values.setdefault((row.label, *free(row).dims.items()), set()).add(row.value)
    found = []
    for row in rows:
        measure = measure_of(row.label, row.task)
        alike = len(values[row.label, *free(row).dims.items()]) == 1
        alike = alike and measure is not None and not measure.uses
        found.append(free(row) if alike else without_dims(row, ("estimator",)))
    return found


def chosen(story: Story) -> Section | None:
    """The thresholds that were chosen, and what they do on each set."""
    if not story.described_as(Chosen):
        return None
    table = by_measure("Each threshold", list(story.rows))
    text = (
        "Each row is a threshold on one set. In the pictures below, the first threshold is the "
        "threshold in use."
    )
    return Section("Evaluation of the thresholds", text, tables=(table,))


TESTED = (
    "A threshold looks better on the data where it was chosen (dev) than it is; the intervals "
    "allow for that. Expect the values on test in use."
)


def verdict(story: Story) -> Sequence[Group]:
    """The thresholds that were chosen; else how systems do, as of all tasks."""
    found = story.described_as(Chosen)
    if not found:
        return groups_of(story)
    return [Group("Chosen thresholds", tuple(_chosen_line(story, one) for one in found))]


def lead(story: Story, row: Row) -> str:
    """The explanation of the figures of the verdict."""
    if not story.described_as(Chosen):
        return lead_of(story, row)
    return f"{TESTED} In brackets the {percent(row.level)} interval."


def headline(story: Story) -> str:
    """The first threshold that was chosen in one sentence; empty without."""
    one = next(iter(story.described_as(Chosen)), None)
    if one is None:
        return ""
    said = f"{one.system}: threshold {one.shown} for {one.rule}"
    tested = _rows_of(story, one, "test").get(one.measure)
    if tested is None:
        return f"{said}, not evaluated on other data."
    result = limit_state(one, {one.measure: tested})
    return f"{said}; on test {one.measure} {value(tested)}{': ' * bool(result)}{result}."


def _rows_of(story: Story, one: Chosen, data: str) -> dict[str, Row]:
    """The rows of a threshold on one set, by measure."""
    about = {**one.dims, "system": one.system, "rule": one.rule, "data": data}
    rows = (r for r in story.rows if about.items() <= r.dims.items() and "subset" not in r.dims)
    return {row.measure: row for row in rows}


def _chosen_line(story: Story, one: Chosen) -> Line:
    tested = _rows_of(story, one, "test")
    own = [*_rows_of(story, one, "dev").values(), *tested.values()]
    chip = limit_state(one, tested) or ("evaluated on test" if tested else "not tested")
    look = {"is within the limit": "good", "breaks the limit": "bad"}.get(chip, "open")
    name = joined(*one.dims.values(), f"{one.system}, {one.rule}")
    if one.by == "upper":
        name += " by the upper end"
    at = f"threshold {one.shown} {ends_of(one)}"
    shown = [r for r in own if r.measure in ("p_miss", one.measure)]
    more = [f"{r.dims['data']}: {r.label} {value(r)}" for r in shown]
    return Line(look, chip, name, at, "; ".join(more))


def claims(story: Story) -> Section:
    """The claims, and the verdicts that single runs would have given."""
    single = {_pair_of(s): _decided(s) for s in story.described_as(SingleRuns) if s.pairs > 1}
    lines = tuple(
        Line(
            LOOKS.get(claim.verdict, "open"),
            claim.verdict,
            ", ".join([*claim.dims.values(), f"{claim.system} against {claim.against}"]),
            claim.text[:1].upper() + claim.text[1:] + ".",
            single.get(_pair_of(claim), ""),
        )
        for claim in story.described_as(Claim)
    )
    text = (
        "The claims are about seeds and training sets, or about seeds alone if one training list "
        "was held fixed."
    )
    if single:
        text += (
            " If single runs favour both methods, a comparison of one run of each is misleading."
        )
    return Section("Claims about methods", text, lines=lines)


def _pair_of(found: Claim | SingleRuns) -> tuple[str, ...]:
    return found.system, found.against, found.measure, *found.dims.values()


def _decided(found: SingleRuns) -> str:
    """The verdicts of pairs of single runs."""
    sides = {"better": found.better, "worse": found.worse, "inconclusive": found.inconclusive}
    shares = (f"{percent(round(n / found.pairs, 4))} {side}" for side, n in sides.items())
    return f"{found.pairs} pairs of one run of each method: {', '.join(shares)}."


def variance(story: Story) -> Section:
    """The variance of one run by seed, training set and test, the main measure first."""
    found = [one for one in story.described_as(Variance) if one.shares]
    names = sorted(dict.fromkeys(one.measure for one in found), key=lambda n: n != story.main)
    own = {name: [one for one in found if one.measure == name] for name in names}
    text = "The interval of a single run shows only the part of the variance that the test adds."
    return Section("Sources of variance between runs", text, of_each(pictures.variance_shares, own))


def constant(label: str) -> str:
    """Output of the naive baseline of a measure: one decision or number for all trials."""
    measure = measure_of(label)
    numbers = measure is not None and "errors" in measure.parts
    return f"the best constant {'number' if numbers else 'decision'}"


PAGE = Page(
    sections=(
        *(chosen, bars, spending, claims, spurious, runs, variance, trade_off),
        *(classes, costs_of_decisions, subsets, calibration, comparison, gates),
    ),
    main=main_of,
    titles=titles,
    headline=headline,
    lead=lead,
    verdict=verdict,
    line=line,
    remarks=remarks,
    judged=lambda row: not is_predictor(row),
    drawn=lambda story: story.costs,
    conventions=False,
    naive=Naive(output=constant),
    curves=frame_of_outcome,
)
