"""The verdict: what a reader learns in ten seconds. Gates, then costs, then comparisons."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from truecost.core.digits import counted, figures, shown_naive, shown_value
from truecost.core.flags import assumed, hours_of
from truecost.core.results import Row, verdict_of, verdict_word
from truecost.gates import Verdict as Gated
from truecost.gates.deciding import more_units
from truecost.pictures.rows import WEAK, figures_of
from truecost.report.section import Group, Line
from truecost.report.story import Part, Story, goodness, mean_rows, part_of
from truecost.report.words import (
    against_naive,
    at_best,
    brackets,
    caveats,
    counts,
    isolated,
    listed,
    phase_of,
    shortest,
    system_of,
    value,
)

MOST = 14  # lines; of more none
FEW = 3  # gates that all passed stand open up to so many
MOST_CHIP = 16  # letters of a name on a chip
MOST_NAMES = 4  # in a sentence
NAIVE = {
    "better": "better than naive",
    "worse": "worse than naive",
    "same": "same as naive",
    "inconclusive": "inconclusive",
    "best": "not judged",
    "": "",
}
BEST = (
    "the figure uses the threshold or calibration that is best on these data. With it even random "
    "scores are no worse than the naive baseline, so no system is marked as better than naive. "
)
NONE_MADE = "the scores have no threshold and are not probabilities, so there are no decisions"
GOOD = {"pass": "good", "better": "good", "fail": "bad", "worse": "bad"}


@dataclass(frozen=True)
class Verdict:
    """All of it."""

    lead: str
    groups: tuple[Group, ...]
    assumed: tuple[str, ...]
    remarks: tuple[str, ...]
    hours: str = ""


def verdict(story: Story) -> Verdict:
    """The first part of the page."""
    page = story.page
    mains = [r for part in story.parts for r in story.mains(part)]
    groups = [_gates(story.result.gates)] if story.result.gates else []
    if story.result.leaderboard and mains:
        groups += worst_subset(story)
    else:
        groups += (page.verdict or groups_of)(story)
    return Verdict(
        (page.lead or lead_of)(story, mains[0]) if mains else "",
        tuple(group for group in groups if group.lines or group.folded),
        _assumed(story),
        tuple(story.result.remarks if page.remarks is None else page.remarks(story)),
        hours_of(story.values),
    )


def headline(story: Story) -> str:
    """The verdict in one sentence: how systems compare, and against the naive baseline."""
    ranked = {part: rows for part in story.parts if (rows := _comparable(story, part))}
    if not ranked or not story.whole:
        return ""
    own = None if story.result.leaderboard else story.page.headline
    if own is not None and (said := own(story)):
        return said
    if len(ranked) > 1:
        return _over_parts(story, ranked)
    [(part, rows)] = ranked.items()
    pairs = story.main_pairs(part)
    if story.result.leaderboard:
        first = [s.system for s in story.result.leaderboard if s.rank == 1]
        share = "comes" if len(first) == 1 else "share"
        of = counted(len(story.result.leaderboard), "submission")
        what = "first of" if len(first) == 1 else "the first rank of"
        return f"{_names(first)} {share} {what} {of}."
    if len(rows) > 2:
        return _at_the_top(story, rows)
    if len(rows) == 2 and pairs:
        return _against(story, *pairs[0])
    return (
        f"{isolated(rows[0].dims['system'])}: {_figures(story, rows[0])}{_naive(story, rows[0])}."
    )


def _comparable(story: Story, part: Part) -> list[Row]:
    """The main measure of what is judged, best first; under the first policy, say, of several."""
    rows = [r for r in story.ranked(part) if story.page.judged(r) and r.value is not None]
    mains = [r for r in story.mains(part) if story.page.judged(r)]
    said = dict(mains[0].dims) if mains else {}
    first = {k: v for k, v in said.items() if k not in ("system", "strategy", "budget")}
    return [r for r in rows if first.items() <= r.dims.items()]


def _names(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`; of many the first."""
    every = list(map(isolated, names))
    if len(every) > MOST_NAMES:
        every = [*every[:MOST_NAMES], f"{len(every) - MOST_NAMES} more"]
    return " and ".join(filter(None, (", ".join(every[:-1]), every[-1])))


def _figures(story: Story, row: Row) -> str:
    """`actual detection cost 0.51 [0.38, 0.67]`."""
    return f"{story.called} {' '.join(figures(row))}".strip()


def _over_parts(story: Story, ranked: Mapping[Part, Sequence[Row]]) -> str:
    """The system that is best in most collections and applications, or the range of its value."""
    firsts = Counter(rows[0].dims["system"] for rows in ranked.values() if len(rows) > 1)
    if not firsts:
        rows = sorted((r for rows in ranked.values() for r in rows), key=goodness)
        ends = (shown_value(row, row.value) for row in (rows[0], rows[-1]))
        name = isolated(rows[0].dims["system"])
        return f"{name}: {story.called} {' to '.join(ends)} in {_cases([*ranked])}."
    pairs = [pair[0] for part in ranked for pair in story.main_pairs(part)]
    if pairs and len({(row.dims["system"], row.baseline) for row in pairs}) == 1:
        return f"{_pair_over_parts(story, pairs)}: {_cases([*ranked])}."
    name, number = firsts.most_common(1)[0]
    best = "lowest" if story.mains(story.parts[0])[0].direction == "lower" else "highest"
    return (
        f"{isolated(name)} has the {best} {story.called} in {number} of {firsts.total()} cases: "
        f"{_cases([*ranked])}.{_decided(pairs)}"
    )


def _pair_over_parts(story: Story, pairs: Sequence[Row]) -> str:
    """In how many cases one system is better or worse than another one, and in how many neither."""
    system, other = isolated(pairs[0].dims["system"]), isolated(pairs[0].baseline or "")
    found: Counter[str] = Counter(verdict_of(row) for row in pairs)
    of = f"of {counted(len(pairs), 'case')}"
    if found.keys() <= {"inconclusive", "same"}:
        return f"{system} and {other} are not distinguishable by {story.called} in any {of}"
    first = "better" if found["better"] else "worse"
    said = f"{system} is {first} than {other} by {story.called} in {found[first]}"
    said += f" and worse in {found['worse']}" if found["better"] and found["worse"] else ""
    said += f" {of}"
    rest = len(pairs) - found["better"] - found["worse"]
    return f"{said} ({rest} not distinguishable)" if rest else said


def _decided(pairs: Sequence[Row]) -> str:
    """The number of comparisons with a difference; empty without comparisons."""
    if not pairs:
        return ""
    shown = sum(verdict_of(row) in ("better", "worse") for row in pairs)
    found = f"{shown} of" if shown else "None of the"
    verb = "show" if shown > 1 else "shows"
    return f" {found} {counted(len(pairs), 'comparison')} {verb} a difference."


def _naive(story: Story, row: Row) -> str:
    """After a comma how a value compares with the naive baseline's."""
    state = against_naive(row)
    if state in ("better", "worse"):
        return f", {_naive_share(story, row) or f'{state} than the naive baseline'}"
    others = {"same": ", the same as the naive baseline"}
    others["inconclusive"] = "; inconclusive against the naive baseline"
    return others.get(state, "")


def _naive_share(story: Story, row: Row) -> str:
    """`51% of what the best constant decision costs`, where the interval excludes that."""
    if row.value is None or not _is_cost(row) or against_naive(row) not in ("better", "worse"):
        return ""
    much = f"{row.value:.1f} times"
    if row.value < 2:
        much = f"{100 * row.value:.0f}% of"
    return f"{much} what {story.page.naive.output(row.label)} costs"


def _is_cost(row: Row) -> bool:
    return (row.naive, row.direction, row.scale) == (1, "lower", "")


def _against(story: Story, row: Row, ratio: Row | None) -> str:
    """The comparison of a system with another one."""
    system, other = isolated(row.dims["system"]), isolated(row.baseline or "")
    said = verdict_of(row)
    if said == "same":
        return f"{system} and {other} are the same by {story.called}."
    if said == "inconclusive":
        more = more_units(row)
        then = f" {more}." if more else ""
        return f"{system} and {other} are not distinguishable by {story.called}.{then}"
    own, beside = (
        next((r for r in story.whole if r.dims == dims and r.label == row.label), None)
        for dims in (row.dims, {**row.dims, "system": row.baseline})
    )
    if own is not None and _is_cost(own) and ratio is not None and ratio.value is not None:
        word = "less" if ratio.value < 1 else "more"
        much = f"{abs(1 - ratio.value) * 100:.0f}% {word} than {other}"
        if ratio.value >= 2:
            much = f"{ratio.value:.1f} times what {other} costs"
        share = _naive_share(story, own)
        return f"{system} costs {much}{', and ' if share else ''}{share}."
    if own is None or beside is None:
        return f"{system} is {said} than {other} by {story.called}: {value(row)}."
    against = f"{_figures(story, own)} against {shown_value(beside, beside.value)}"
    return f"{system} is {said} than {other}: {against}."


def _at_the_top(story: Story, rows: Sequence[Row]) -> str:
    """The best of many systems, and those tied with it, where all were compared."""
    best = rows[0]
    names = story.result.first_rank.get(best.label, ())
    if not names:
        to = next(iter(story.pairs), None)
        beside = "others may be as good: the order of the systems was not tested"
        if to is not None:
            beside = f"each was compared with {isolated(to[0].baseline or '')} alone"
    elif len(names) == len(rows):
        beside = "all are tied"
    elif len(names) == 1:
        beside = "all others are worse"
    else:
        tied = [name for name in names if name != best.dims["system"]]
        beside = f"{_names(tied)} {'is' if len(tied) == 1 else 'are'} tied with it"
    word = "lowest" if best.direction == "lower" else "highest"
    return (
        f"Of {len(rows)} systems, {isolated(best.dims['system'])} has the {word} {story.called}: "
        f"{_figures(story, best).removeprefix(story.called).strip()}; {beside}."
    )


def groups_of(story: Story) -> list[Group]:
    """The cost of each system, their comparison, and the worst subset."""
    return [*costs(story), *worst_subset(story)]


def lead_of(story: Story, row: Row, more: str = "", *, decided: bool = False) -> str:
    """The introduction: the measure, its better direction, and the meaning of the naive baseline.

    `row` is of the main measure, `more` what else the figures are; with `decided` nothing is said
    of measures that judge no decision.
    """
    said = story.main + (f" ({story.called})" if story.called.lower() != story.main else "")
    said += f": {row.direction} is better. "
    best = at_best(story.main, story.result.task)
    if best and not decided:
        judged = any(not at_best(r.label) for r in story.whole)
        said += f"No decision is judged{'' if judged else f' ({NONE_MADE})'}: {BEST}"
    every = (r for part in story.parts for r in story.mains(part))
    references = {r.naive: r for r in every if r.naive is not None}
    if len(references) == 1 and not best:
        naive = shown_naive(next(iter(references.values())))
        what = story.page.naive.output(story.main)
        said += f"{naive} is the naive baseline: {what}{shortest(row)}. "
    return f"{said}{more}{brackets(story.values, row.level)}"


def _gates(gates: Sequence[Gated]) -> Group:
    """Failed and undecided ones first; of many that passed only how many."""
    order = {"fail": 0, "undecided": 1, "pass": 2}
    ranked = sorted(gates, key=lambda g: order[g.verdict])  # stable
    lines = [_gate(g) for g in ranked]
    open_ones = sum(g.verdict != "pass" for g in gates)
    shown = min(open_ones, MOST) or (len(lines) if len(lines) <= FEW else 0)
    counts = {s: sum(g.verdict == s for g in gates) for s in order}
    said = {"fail": "failed", "undecided": "undecided", "pass": "passed"}
    title = ", ".join(f"{n} {said[s]}" for s, n in counts.items() if n)
    folded = tuple(lines[shown:])
    passed = counted(counts["pass"], "passed gate")
    summary = (
        f"The {passed}" if len(folded) == counts["pass"] else counted(len(folded), "more gate")
    )
    return Group(f"Gates: {title}", tuple(lines[:shown]), folded, summary)


def _gate(gate: Gated) -> Line:
    chip = gate.verdict + (" (let pass)" if gate.passed and gate.verdict != "pass" else "")
    measure = gate.measure if gate.gate.baseline is None else f"difference in {gate.measure}"
    about = ", ".join((measure, *map(isolated, filter(None, gate.about.split(", ")))))
    name = gate.gate.name or about
    of = f"{about} " if gate.gate.name else ""
    bound = gate.bound.replace(" ", "\N{NO-BREAK SPACE}")
    text = f"{of}{figures_of(gate)}, wanted {bound}"
    return Line(GOOD.get(gate.verdict, "open"), chip, name, text, gate.message)


def costs(story: Story) -> list[Group]:
    """A line a system and a comparison, by part; of many none: the pictures have them all."""
    groups, line = [], story.page.line or (lambda _, row: line_of(row))
    for part in story.parts:
        lines = [line(story, r) for r in story.mains(part)]
        lines += [difference_line(*pair) for pair in story.main_pairs(part)]
        groups.append(Group(part.title, tuple(lines)))
    return groups if sum(len(g.lines) for g in groups) <= MOST else []


def worst_subset(story: Story, before: str = "") -> list[Group]:
    """The subset that fares worst, of those that rest on enough; nothing without subsets.

    `before` stands before its value.
    """
    rows = [r for r in mean_rows(story.values) if "subset" in r.dims and story.in_phase(r)]
    rows = [r for r in rows if r.label == story.main and r.value is not None]
    strong = [r for r in rows if not WEAK & {*r.flags}]
    if len(strong) < 2:
        return []
    row = max(strong, key=goodness)
    part = part_of(row)
    where = f", {part.name}" if part.name else ""
    whole = next((r for r in story.ranked(part) if r.dims["system"] == row.dims["system"]), None)
    text = f"{isolated(row.dims['subset'])} ({system_of(row)}{where}): "
    text += before + value(row)
    if whole is not None and whole.value is not None:
        text += f"; on all data {shown_value(whole, whole.value)}"
    more = f"{counts(row)}. Of {counted(len(strong), 'subset value')} with enough data."
    return [Group("", (Line("open", "", "Worst subset", text, more),))]


def _cases(parts: Sequence[Part]) -> str:
    """`2 collections (a, b) and 3 applications (x, y, z)`."""
    names: dict[str, dict[str, None]] = {}
    for part in parts:
        for key, name in part.dims:
            names.setdefault(key, {})[name] = None
    return " and ".join(f"{counted(len(n), key)} ({listed([*n])})" for key, n in names.items())


def line_of(row: Row, text: str = "", more: str = "") -> Line:
    """The verdict on one system: its value, and what that rests on unless more is said."""
    state = against_naive(row)
    more = more or counts(row)
    if state != "same" and (beware := caveats(row)):
        more = f"{more}. But {beware}."
    look = GOOD.get(state, "open")
    return Line(look, NAIVE[state], system_of(row), text or value(row), more)


def difference_line(row: Row, ratio: Row | None) -> Line:
    """The verdict on two systems: how they differ."""
    said = verdict_word(row)
    chip = (
        f"{said} than {_short(row.baseline or '')}"
        if said in ("better", "worse")
        else {"same": "the same"}.get(said, said)
    )
    name = f"{system_of(row)}, against {row.baseline}"
    more = f"But {beware}." if (beware := caveats(row)) else ""
    of = f" in {phased}" if (phased := phase_of(row)) else ""
    if row.value is None:
        return Line("open", chip, name, f"difference{of} {value(row)}")
    text = f"difference{of} {value(row)}"
    if ratio is not None and ratio.value is not None:
        text += f", ratio {' '.join(figures(ratio))}"
    return Line(GOOD.get(said, "open"), chip, name, text, more)


def _short(name: str) -> str:
    return name if len(name) <= MOST_CHIP else f"{name[: MOST_CHIP - 1]}…"


def _assumed(story: Story) -> tuple[str, ...]:
    """The assumptions behind the values, for each application."""
    found: dict[str, list[Row]] = {}
    for row in story.values:
        found.setdefault(part_of(row).application, []).append(row)
    said = [(name, assumed(rows)) for name, rows in found.items()]
    return tuple(f"{name}: {text}" if name else text for name, text in said if text)
