"""The verdict of AB/BA: recall and false accepts of B relative to A."""

from collections.abc import Sequence

from truecost.core.digits import amount, bracketed, counted, figure, percent
from truecost.core.results import Row
from truecost.report import words
from truecost.report.section import Group, Line, joined
from truecost.report.story import Part, Story, mean_rows, part_of
from truecost.report.verdict import worst_subset
from truecost.report.words import endless, isolated, value
from truecost.tasks.abba.describing import Chosen, Plane
from truecost.tasks.abba.measures import ESTIMATORS as BY_TRUST
from truecost.tasks.abba.options import RATIOS

TRUSTED = ("mean", *BY_TRUST)
MOST = 10  # lines; more are folded
TIMES = 3.0  # from here on how many times as many is said, not how many percent more
CHIPS = {  # by recall and false accepts, None where it was not asked for
    ("better", "better"): ("good", "better on both"),
    ("better", "worse"): ("open", "trade-off"),
    ("worse", "better"): ("open", "trade-off"),
    ("worse", "worse"): ("bad", "worse on both"),
    ("better", "same"): ("good", "more recall, as many false accepts"),
    ("same", "better"): ("good", "fewer false accepts, as much recall"),
    ("worse", "same"): ("bad", "less recall, as many false accepts"),
    ("same", "worse"): ("bad", "more false accepts, as much recall"),
    ("same", "same"): ("open", "no change"),
    ("better", ""): ("open", "more recall, false accepts inconclusive"),
    ("", "better"): ("open", "fewer false accepts, recall inconclusive"),
    ("worse", ""): ("bad", "less recall, false accepts inconclusive"),
    ("", "worse"): ("bad", "more false accepts, recall inconclusive"),
    ("same", ""): ("open", "as much recall, false accepts inconclusive"),
    ("", "same"): ("open", "as many false accepts, recall inconclusive"),
    ("", ""): ("open", "inconclusive"),
    ("better", None): ("good", "more recall"),
    ("worse", None): ("bad", "less recall"),
    (None, "better"): ("good", "fewer false accepts"),
    (None, "worse"): ("bad", "more false accepts"),
}
WORDS = {  # more, less, neither and many times as much, by ratio
    "rrecall": (
        *("finds {} more than A", "finds {} less than A", "finds as much as A"),
        "finds {} times as much as A",
    ),
    "rfpr": (
        "falsely accepts {} more often than A",
        "falsely accepts {} less often than A",
        "falsely accepts as often as A",
        "falsely accepts {} times as often as A",
    ),
}
UNDEFINED = {"rrecall": "its recall", "rfpr": "its false-positive rate"}


def about_ratios(_: Story, row: Row) -> str:
    """The explanation of the figures, before the first of them."""
    return (
        f"B is the candidate, A the deployed model; rrecall is the recall of B over that of "
        f"A, rfpr the false-positive rate of B over that of A, and 1 is no change. Items that "
        f"neither model accepts are not collected, so the recall of a single model and the effect "
        f"of a lower threshold are not known. In brackets the {percent(row.level)} interval."
    )


def headline(story: Story) -> str:
    """The comparison of B with A in words, with its deployments or thresholds."""
    part, found = story.parts[0], dict[str, list[str]]()
    planes = [p for p in trusted(_planes(story, part)) if not p.subset]
    for plane in planes:
        for chosen in plane.chosen:
            if chosen.threshold is not None and (both := plane.rows(story.values, chosen)):
                name = f"at threshold {figure(chosen.threshold)}"
                name += f" of {isolated(plane.system)}" * (len(planes) > 1)
                found.setdefault(outcome(both)[1], []).append(name)
    for line in [] if planes else _deployments(story, part):
        found.setdefault(line.chip, []).append(line.name)
    said = "; ".join(f"{chip} ({words.listed(names, 3)})" for chip, names in found.items())
    if not said:
        return "No threshold of B meets the rule."
    return f"{part.name + ': ' * bool(part.name)}B against A: {said}."


def verdict(story: Story) -> list[Group]:
    """A line for each deployment, or for each threshold that was chosen, by part; and the worst
    subset, where the thresholds of subsets do not stand there already.
    """
    groups, chosen = [], bool(story.described_as(Plane))
    for part in story.parts:
        found = _chosen(story, part) if chosen else (_deployments(story, part), list[Line](), "")
        lines, subsets, summary = found
        folded = (*lines[MOST:], *subsets)
        if len(lines) > MOST:
            summary = f"{len(folded)} more"
        groups.append(Group(part.title, tuple(lines[:MOST]), folded, summary))
    return groups if chosen else [*groups, *worst_subset(story, f"{story.main} ")]


def _deployments(story: Story, part: Part) -> list[Line]:
    """The recommended estimate of each deployment."""
    rows = [r for r in story.whole if part_of(r) == part]
    found: dict[str, dict[str, Row]] = {}
    for row in mean_rows(rows):
        if row.label in RATIOS:
            found.setdefault(row.dims["system"], {})[row.measure] = row
    return [
        _line(isolated(name), both, "", _other_side(rows, name)) for name, both in found.items()
    ]


def _line(name: str, both: dict[str, Row], before: str = "", more: str = "") -> Line:
    """One outcome of both ratios, or of the one that there is."""
    look, chip = outcome(both)
    some = next(iter(both.values()))
    rests = ". ".join(filter(None, (_counts_words(some), _cautions(both), more)))
    return Line(look, chip, name, before + sentence(both), f"{rests}.")


def outcome(both: dict[str, Row]) -> tuple[str, str]:
    """Look and words of the chip; what machine labels alone say is neither good nor bad."""
    recall, false = (_side(both[name]) if name in both else None for name in RATIOS)
    look, chip = CHIPS.get((recall, false), CHIPS["", ""])
    alone = any(r.dims.get("estimator") == "soft" for r in both.values())
    return ("open" if alone else look), chip


def _side(row: Row) -> str:
    """Whether a ratio is better, worse or the same; empty where that is not decided."""
    state = words.against_naive(row)
    return state if state in ("better", "worse", "same") else ""


def sentence(both: dict[str, Row]) -> str:
    """`B finds 2.5% more than A [0.5%, 4.5%]; it falsely accepts 25% less often [-34%, -14%]`."""
    said = [_change(both[name]) for name in RATIOS if name in both]
    return "; ".join(f"{who} {text}" for who, text in zip(("B", "it"), said, strict=False))


def _change(row: Row) -> str:
    """The change from A to B, with the interval."""
    more, less, same, times = WORDS[row.measure]
    if row.value is None and not endless(row):
        return f"has no value for {UNDEFINED[row.measure]} ({value(row)})"
    write = _percents if row.value is not None and row.value < TIMES else _times
    ends = bracketed(write(row.lower), "infinite" if endless(row) else write(row.upper), "")
    if row.value is None:
        why = (row.reason or "").removeprefix("infinite: ")
        return f"{times.format('infinitely many')} {ends} ({why})"
    change, pattern = write(row.value), times
    if write is _percents:
        pattern = same if change == "0%" else less if row.value < 1 else more
    return f"{pattern.format(change.removeprefix('-'))} {ends}"


def _times(ratio: float | None) -> str:
    return "undefined" if ratio is None else f"{ratio:.2g}" if ratio < 100 else f"{ratio:.0f}"


def _percents(ratio: float | None) -> str:
    """The change that a ratio means: `2.5%`, `-14%`, `120%`."""
    if ratio is None:
        return "undefined"
    change = round(100 * (ratio - 1), 2) + 0.0
    return f"{change:.2g}%" if abs(change) < 9.95 else f"{change:.0f}%"


def _counts_words(row: Row) -> str:
    """`corrected: 3490 items (1710 by A, 1780 by B), 1044 labels; 300 units (user)`."""
    found = row.counts
    estimator = row.dims.get("estimator", "")
    said = counted(row.n_trials, row.item)
    if "items_a" in found:
        said += f" ({amount(found['items_a'])} by A, {amount(found['items_b'])} by B)"
        said += f", {counted(found['labels'], 'label')}"
    text = f"{words.ESTIMATORS.get(estimator, estimator)}: {said}"
    return "; ".join(filter(None, (text, words.units_of(row))))


def _cautions(both: dict[str, Row]) -> str:
    """The warnings about either ratio; once, where both have the same."""
    said = {name: words.caveats(row) for name, row in both.items()}
    texts = [f"{name}: {text}" for name, text in said.items() if text]
    if len({*said.values()}) == 1:
        texts = [text for text in said.values() if text][:1]
    return f"But {'; '.join(texts)}" if texts else ""


def _other_side(rows: Sequence[Row], system: str) -> str:
    """A warning where machine labels alone would give the opposite verdict."""
    own = (r for r in rows if r.dims["system"] == system and "other_side" in r.flags)
    said = [f"{r.measure} {value(r)}" for r in own]
    return f"Machine labels alone show the opposite: {', '.join(said)}" if said else ""


def _planes(story: Story, part: Part) -> list[Plane]:
    collection = dict(part.dims).get("collection", "")
    return [p for p in story.described_as(Plane) if p.collection == collection]


def _chosen(story: Story, part: Part) -> tuple[list[Line], list[Line], str]:
    """A line for each rule by the estimator to trust; those of others and of subsets, folded, and
    what is said of these.
    """
    planes = _planes(story, part)
    best = trusted(planes)
    first = [p for p in planes if p in best and not p.subset]
    others = [p for p in planes if p not in best and not p.subset]
    subsets = [p for p in planes if p.subset]
    lines, folded = (
        [_threshold(story, p, chosen, plane_name(p, planes)) for p in of for chosen in p.chosen]
        for of in (first, (*others, *subsets))
    )
    said = ["Other estimators"] * bool(others) + ["subsets"] * bool(subsets)
    return lines, folded, " and ".join(said) if others else "Thresholds of subsets"


def trusted(planes: Sequence[Plane]) -> list[Plane]:
    """The planes by the estimator to trust, for each deployment and subset."""
    found: dict[tuple[str, ...], Plane] = {}
    for plane in sorted(planes, key=lambda p: [*TRUSTED, p.estimator].index(p.estimator)):
        found.setdefault((plane.collection, plane.system, plane.subset), plane)
    return [*found.values()]


def remarks_of(story: Story) -> tuple[str, ...]:
    """The remarks of the study, for each plane only by the estimator to trust."""
    planes = story.described_as(Plane)
    best = trusted(planes)
    others = tuple(f"{p.about}: " for p in planes if p not in best)
    return tuple(text for text in story.result.remarks if not text.startswith(others))


def plane_name(plane: Plane, planes: Sequence[Plane]) -> str:
    """System, estimator where there are several, subset."""
    several = len({p.estimator for p in planes}) > 1
    estimator = words.ESTIMATORS.get(plane.estimator, plane.estimator) if several else ""
    return joined(isolated(plane.system), estimator, plane.subset)


def _threshold(story: Story, plane: Plane, chosen: Chosen, name: str) -> Line:
    """The threshold chosen by a rule, with its ratios."""
    both = plane.rows(story.values, chosen)
    name = f"{name}, {words.rule_words(chosen.rule, plane.by)}"
    if chosen.threshold is None or not both:
        return Line("open", "no threshold", name, "no threshold of the grid meets the rule")
    before = f"threshold {figure(chosen.threshold)}"
    if chosen.lower is not None and chosen.upper is not None:
        before += f" {bracketed(figure(chosen.lower), figure(chosen.upper), '')}"
    more = (
        "Each replicate chooses its own threshold, but the interval of "
        f"{chosen.limits} is that of the chosen threshold"
    )
    if plane.by == "upper":
        more += (
            ", which was chosen on these data so that the interval is within the limit: it does "
            "not "
            "account for the choice, so check the threshold on other data"
        )
    if chosen.feasible < 1:
        share = percent(round(1 - chosen.feasible, 4))
        more += f"; in {share} of the replicates no threshold meets the rule"
    return _line(name, both, f"{before}: ", more)
