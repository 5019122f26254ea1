"""The verdict: what a reader learns in ten seconds. Gates, then costs, then comparisons."""

from collections.abc import Sequence
from dataclasses import dataclass

from truecost.gates import Verdict as Gated
from truecost.report.story import Part, Story, part_of
from truecost.report.words import (
    against_naive,
    between,
    caveats,
    counts,
    listed,
    many,
    signed,
    system_of,
    value,
)
from truecost.results import Row, assumed, figure, verdict_of

MOST = 14  # lines; more are summed up by system and folded
FEW = 6  # gates that stand open, unless more of them did not pass
NAIVE = {
    "better": "better than naive",
    "worse": "worse than naive",
    "same": "same as naive",
    "undecided": "undecided",
    "": "",
}
Case = tuple[str, str, Row]  # how it turned out, where, and the row
ANOTHER = "what one more run would give"
GOOD = {"pass": "good", "better": "good", "fail": "bad", "worse": "bad"}


@dataclass(frozen=True)
class Line:
    """One line of the verdict.

    Attributes
    ----------
    look : {"good", "bad", "open"}
        Colour of the chip.
    chip : str
        The outcome in a word or two; empty when there is none.
    name, text, more : str
        What it is about, the figures, and what they rest on.
    """

    look: str
    chip: str
    name: str
    text: str
    more: str = ""


@dataclass(frozen=True)
class Group:
    """Lines under a heading, and those that are folded away.

    Attributes
    ----------
    title : str
    lines, folded : tuple of Line
    summary : str
        What is said of the folded lines.
    """

    title: str
    lines: tuple[Line, ...]
    folded: tuple[Line, ...] = ()
    summary: str = ""


@dataclass(frozen=True)
class Verdict:
    """All of it.

    Attributes
    ----------
    lead : str
        What the figures are.
    groups : tuple of Group
    assumed, remarks, signatures : tuple of str
    """

    lead: str
    groups: tuple[Group, ...]
    assumed: tuple[str, ...]
    remarks: tuple[str, ...]
    signatures: tuple[str, ...]


def verdict(story: Story) -> Verdict:
    """What the page says first."""
    mains = [r for part in story.parts for r in story.mains(part)]
    board = story.result.leaderboard
    groups = [_gates(story.result.gates)] if story.result.gates else []
    groups += [_first(story)] if board else _costs(story)
    return Verdict(
        _lead(story, mains[0]),
        tuple(groups),
        _assumed(story),
        tuple(story.result.remarks),
        tuple(dict.fromkeys(r.signature for r in mains)),
    )


def _lead(story: Story, row: Row) -> str:
    """Which measure, which way is better, what naive means."""
    title = story.title.removesuffix(" (normalised)")
    said = f"{title} ({story.main}), {row.direction} is better. "
    references = {r.reference for part in story.parts for r in story.mains(part)} - {None}
    if len(references) == 1:
        said += f"{figure(next(iter(references)))} is the naive system: the best constant answer. "
    return f"{said}In brackets the {row.level:.0%} interval."


def _gates(gates: Sequence[Gated]) -> Group:
    """Failed and undecided ones first; of many that passed only how many."""
    order = {"fail": 0, "undecided": 1, "pass": 2}
    ranked = sorted(gates, key=lambda g: order[g.state])  # stable
    lines = [_gate(g) for g in ranked]
    open_ones = sum(g.state != "pass" for g in gates)
    shown = FEW if open_ones < FEW else min(open_ones, MOST)
    states = {s: sum(g.state == s for g in gates) for s in order}
    said = {"fail": "failed", "undecided": "undecided", "pass": "passed"}
    title = ", ".join(f"{n} {said[s]}" for s, n in states.items() if n)
    folded = tuple(lines[shown:])
    return Group(
        f"Gates: {title}", tuple(lines[:shown]), folded, f"{many(len(folded), 'more gate')}"
    )


def _gate(gate: Gated) -> Line:
    chip = gate.state + (" (let pass)" if gate.passed and gate.state != "pass" else "")
    about = f"{gate.measure}, {gate.about}" if gate.about else gate.measure
    name = gate.gate.name or about
    measure = f"{about} " if gate.gate.name else ""
    bound = gate.gate.bound.replace(" ", "\N{NO-BREAK SPACE}")
    text = f"{measure}{gate.found}, wanted {bound}"
    return Line(GOOD.get(gate.state, "open"), chip, name, text, gate.message)


def _first(story: Story) -> Group:
    """The first of a leaderboard, and who is not told apart from it."""
    board = story.result.leaderboard
    row = story.mains(story.parts[0])[0]
    ties = [s.system for s in board[1:] if s.rank == 1]
    more = f"the first of {many(len(board), 'submission')}"
    if ties:
        more += f"; {listed(ties)} {'shares' if len(ties) == 1 else 'share'} its rank"
    more += f". Each was scored on {_size(row)}."
    said = NAIVE[against_naive(row)]
    best = board[0]
    text = f"{figure(best.value)} {between(best.lower, best.upper)}{f', {said}' if said else ''}"
    return Group("", (Line("good", "rank 1", best.system, text, more),))


def _size(row: Row) -> str:
    """How much data each submission was scored on."""
    found = row.counts
    if "targets" not in found:
        return many(row.n_trials, "trial")
    return f"{many(found['targets'], 'target')} and {many(found['nontargets'], 'nontarget')}"


def _costs(story: Story) -> list[Group]:
    """Lines by part; when there are many, how often each system is better."""
    groups = []
    for part in story.parts:
        lines = [_value(r) for r in story.mains(part)]
        lines += [_difference(*pair) for pair in story.main_pairs(part)]
        groups.append(Group(part.title, tuple(lines)))
    if sum(len(g.lines) for g in groups) <= MOST:
        return groups
    every = [
        Line(x.look, x.chip, f"{g.title}: {x.name}", x.text, x.more)
        for g in groups
        for x in g.lines
    ]
    title = f"In {many(len(groups), 'case')}"
    if story.parts[0].dims:
        title = f"In {_cases(story.parts)}"
    return [Group(title, tuple(_sums(story)), tuple(every), f"Each of the {len(every)}")]


def _cases(parts: Sequence[Part]) -> str:
    """`2 collections (a, b) and 3 applications (x, y, z)`."""
    names: dict[str, dict[str, None]] = {}
    for part in parts:
        for key, name in part.dims:
            names.setdefault(key, {})[name] = None
    return " and ".join(f"{many(len(n), key)} ({listed([*n])})" for key, n in names.items())


def _sums(story: Story) -> list[Line]:
    """A line for each system and each comparison, over all parts."""
    found: dict[tuple[str, str], list[Case]] = {}
    for part in story.parts:
        for row in story.mains(part):
            key = (system_of(row), " than naive")
            found.setdefault(key, []).append((against_naive(row), part.name, row))
        for row, _ in story.main_pairs(part):
            key = (f"{system_of(row)} against {row.baseline}", "")
            found.setdefault(key, []).append((verdict_of(row), part.name, row))
    return [_sum(name, than, cases) for (name, than), cases in found.items()]


def _sum(name: str, than: str, cases: Sequence[Case]) -> Line:
    """How often better, worse and undecided, and where it is what it seldom is."""
    found: dict[str, list[str]] = {}
    for state, place, _ in cases:
        found.setdefault(state or "undecided", []).append(place)
    said = []
    for state in (s for s in ("better", "worse", "same", "undecided") if s in found):
        places = found[state]
        where = f" ({'; '.join(places[:3])})" if len(places) < min(4, len(cases) / 2) else ""
        said.append(f"{state} in {len(places)} of {len(cases)}{where}")
    values = [row.value for *_, row in cases if row.value is not None]
    kind = "difference " if cases[0][2].kind == "difference" else ""
    text = f"{kind}{figure(min(values))} to {figure(max(values))}; " if values else ""
    better = len(found.get("better", ()))
    if len(found) == 1:
        [state] = found
        chip = f"{state}{than}" if state in ("better", "worse") else state
        return Line(GOOD.get(state, "open"), chip, name, f"{text}in all {len(cases)}")
    return Line("open", f"{better} of {len(cases)} better", name, text + ", ".join(said))


def _value(row: Row) -> Line:
    state = against_naive(row)
    if row.dims.get("estimator") == "run":  # its counts stand with the mean
        return Line(GOOD.get(state, "open"), NAIVE[state], system_of(row), value(row), ANOTHER)
    more = counts(row)
    if state != "same" and (beware := caveats(row)):
        more = f"{more}. But {beware}."
    return Line(GOOD.get(state, "open"), NAIVE[state], system_of(row), value(row), more)


def _difference(row: Row, ratio: Row) -> Line:
    said = verdict_of(row)
    name = f"{system_of(row)}, against {row.baseline}"
    if row.value is None:
        return Line("open", said, name, f"difference {value(row)}")
    text = f"difference {signed(row.value)} {between(row.lower, row.upper)}"
    if ratio.value is not None:
        text += f", ratio {figure(ratio.value)} {between(ratio.lower, ratio.upper)}"
    return Line(GOOD.get(said, "open"), said, name, text)


def _assumed(story: Story) -> tuple[str, ...]:
    """What the values rest on, for each application."""
    found: dict[str, list[Row]] = {}
    for row in story.values:
        found.setdefault(dict(part_of(row).dims).get("application", ""), []).append(row)
    said = [(name, assumed(rows)) for name, rows in found.items()]
    return tuple(f"{name}: {text}" if name else text for name, text in said if text)
