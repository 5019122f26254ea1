"""The verdict on systems that learn across time, under each policy."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from truecost.core.digits import counted, figures, shown_naive
from truecost.core.results import NO_INTERVAL, Row, lacks_interval, verdict_of, verdict_word
from truecost.outputs.page import plain
from truecost.pictures.look import cut
from truecost.report.section import Group, Line
from truecost.report.story import Part, Story, goodness, part_of
from truecost.report.verdict import GOOD, NAIVE, costs, worst_subset
from truecost.report.words import (
    against_naive,
    brackets,
    caveats,
    isolated,
    listed,
    titles_of,
    value,
)
from truecost.tasks.lifelong.describing import FROZEN, UNHELPED
from truecost.tasks.lifelong.descriptions import LifelongDescription, name_in

T = TypeVar("T")
K = TypeVar("K")
MAINS = ("penalised_score", "policy_score")  # the first that there is tells of a system
HELP = {"n_corrections": "correction"} | {f"help_{of}s": of for of in ("second", "word", "action")}
OFFLINE = {f"offline_{of}s": of for of in ("answer", "second", "word", "action")}
MOST = 12  # lines that stand open
POLICIES = 4  # whose figures a line has
FEW = 2  # systems that the first sentence tells one by one
CHIP = 120.0  # pixels of a name on a chip
CHIPS = {  # against the initial version, kept frozen
    "better": "beats frozen",
    "worse": "loses to frozen",
    "same": "same as frozen",
    "inconclusive": "inconclusive",
}
GAINS = {  # of the gain by generalisation
    "better": ("good", "worth the help"),
    "worse": ("bad", "not worth it"),
    "same": ("open", "pays for itself"),
}
FORGETS = {
    "better": ("good", "no loss"),
    "worse": ("bad", "forgets"),
    "same": ("open", "no change"),
}


def about_lives(story: Story, row: Row) -> str:
    """The explanation of the main figure, and of its baseline."""
    said = f"{story.main}: {row.direction} is better. "
    if row.measure == "penalised_score":
        said += (
            "The score after the person's help plus the penalty of the corrections, in the same "
            "unit. "
        )
    if has_start(story, row):
        said += "Frozen is the initial version, which never learns, on the same data. "
    return f"{said}{brackets(story.values, row.level)}"


def headline(story: Story) -> str:
    """The comparison of systems, or the figure of each, with the policies."""
    part = story.parts[0]
    rows, pairs = _rows_of_systems(story, part)
    if len(pairs) == 1:
        [(name, own)] = pairs.items()
        said = [f"{name}: {_under(own, [verdict_word(r) for r in own])}."]
    elif len(rows) > FEW:
        said = [_firsts(story, [r for own in rows.values() for r in own], pairs)]
    else:
        said = [f"{name}: {_outcome(story, own)}." for name, own in rows.items()]
    return ": ".join(filter(None, (part.name, " ".join(filter(None, said)))))


def _outcome(story: Story, rows: Sequence[Row]) -> str:
    """The verdicts on a system, after its gain where there is one; without verdicts its value."""
    row, chips = rows[0], [line_of(story, r).chip for r in rows]
    gain = measures_beside(story.whole, row).get("generalisation_gain")
    if row.measure == "penalised_score" and gain is not None and not has_start(story, row):
        return f"gain by generalisation {value(gain)}, {_under(rows, chips)}"
    return _under(rows, chips) if any(chips) else f"{story.main} {value(row)}"


def _under(rows: Sequence[Row], states: Sequence[str]) -> str:
    """`better under policy recent:3; worse under policy uniform`."""
    found = grouped(zip(states, map(policy_of, rows), strict=True), lambda one: one[0])
    names = {state or "undefined": [name for _, name in of] for state, of in found.items()}
    said = {s: f" under polic{'ies' if len(of) > 1 else 'y'} " for s, of in names.items()}
    return "; ".join(s + (said[s] + listed(of, POLICIES)) * any(of) for s, of in names.items())


def _firsts(story: Story, rows: Sequence[Row], pairs: Mapping[str, Sequence[Row]]) -> str:
    """A sentence about the system of many that comes first under most policies."""
    policies = grouped(rows, policy_of)
    best = Counter(system_of(min(own, key=goodness)) for own in policies.values())
    [(name, times)] = best.most_common(1)
    end = "lowest" if rows[0].direction == "lower" else "highest"
    said = f"{name} has the {end} {story.main} of {counted(len({*map(system_of, rows)}), 'system')}"
    said += f" under {times} of {counted(len(policies), 'policy')}." if len(policies) > 1 else "."
    open_ones = {verdict_of(r) for own in pairs.values() for r in own} <= {"inconclusive", "same"}
    open_ones = open_ones and not all(lacks_interval(r) for own in pairs.values() for r in own)
    return said + " All differences between systems are inconclusive." * (bool(pairs) and open_ones)


def titles(story: Story) -> tuple[str, str] | None:
    """Title and heading: the systems that were helped by name, their baselines by number.

    None where none, or all, of them are baselines.
    """
    bare = {r.dims["system"] for r in story.values if r.dims.get("strategy") in UNHELPED}
    helped = [name for name in story.systems if name not in bare]
    if not helped or not bare:
        return None
    return titles_of(f"{listed(helped, 3)}, beside {counted(len(bare), 'baseline')} without help")


def verdict(story: Story) -> list[Group]:
    """The result of each system, policy by policy, and the worst subset."""
    return [*(life_groups(story) or costs(story)), *worst_subset(story)]


def has_start(story: Story, row: Row) -> bool:
    """Whether the reference of a row is the initial version; otherwise it is the naive baseline."""
    every = story.described_as(LifelongDescription)
    own = [d for d in every if d.dims.get("system") == row.dims.get("system")]
    return row.naive is not None and any(None in d.learnt for d in own)


def life_groups(story: Story) -> list[Group]:
    """For each part a line a system, a comparison and what was forgotten; folded, all by policy."""
    groups: list[Group] = []
    for part in story.parts:
        systems, pairs = _rows_of_systems(story, part)
        bare = without_help(story, part, [r for own in systems.values() for r in own])
        lines = [_system(story, own) for own in systems.values()]
        lines += [_compared(own) for own in pairs.values()]
        forgetting = _forgetting(story, part)
        lines += [x for name, x in forgetting.items() if name in systems]
        every = [(r, line_of(story, r)) for own in systems.values() for r in own if len(own) > 1]
        every += [(r, _unhelped(story, r)) for r in bare]
        every += [(r, _compared([r])) for own in pairs.values() for r in own if len(own) > 1]
        by_policy = grouped(every, lambda one: policy_of(one[0])).items()
        folded = [
            replace(x, name=": ".join(filter(None, (policy, x.name))))
            for policy, of in by_policy
            for _, x in of
        ]
        folded += [x for name, x in forgetting.items() if name not in systems]
        if lines:
            rest = (*lines[MOST:], *folded)
            groups.append(
                Group(part.name, tuple(lines[:MOST]), rest, f"All {len(rest)} results in full")
            )
    return groups


def _rows_of_systems(story: Story, part: Part) -> tuple[dict[str, list[Row]], dict[str, list[Row]]]:
    """The main rows of each system that learns, and of each comparison, policy by policy."""
    systems = grouped(filter(lived, story.mains(part)), system_of)
    pairs = (row for row, _ in story.main_pairs(part) if lived(row))
    return systems, grouped(pairs, lambda row: f"{system_of(row)} against {row.baseline}")


def _system(story: Story, rows: Sequence[Row]) -> Line:
    """The result of a system: in full under one policy, in a line under several."""
    if len(rows) == 1:
        return line_of(story, rows[0])
    chips = CHIPS if has_start(story, rows[0]) else NAIVE
    more = _help(measures_beside(story.whole, rows[0]))
    more += [f"But {beware}" for beware in [caveats(rows[0])] if beware]
    line = _summed(system_of(rows[0]), rows, [_against_start(r) for r in rows], chips)
    return replace(line, more=". ".join(more))


def _compared(rows: Sequence[Row]) -> Line:
    """A comparison, in full under one policy, in a line under several."""
    than = cut(rows[0].baseline or "", CHIP)
    chips = {state: f"{state} than {than}" for state in ("better", "worse")}
    states = [verdict_word(r) for r in rows]
    if len(rows) > 1:
        return _summed(_pair_of(rows[0]), rows, states, chips)
    [row], [state] = rows, states
    text, more = f"difference {row.reason or 'undefined'}", ""
    if row.value is not None:
        text = f"difference {' '.join(figures(row))}"
        more = "The comparison is inconclusive." * (state == "inconclusive")
    return Line(GOOD.get(state, "open"), chips.get(state, state), _pair_of(row), text, more)


def _summed(
    name: str, rows: Sequence[Row], states: Sequence[str], chips: Mapping[str, str]
) -> Line:
    """The conclusions with the number of policies; of few policies with the figures."""
    state = next((s for s in ("better", "worse") if s in states), states[0])
    chip, times = chips.get(state, state), states.count(state)
    apart = times < len(states)
    chip += f" in {times} of {len(states)}" * apart
    text = _under(rows, states)
    if len(rows) <= POLICIES:
        text = "; ".join(
            f"{policy_of(row)} {plain(row) if lacks_interval(row) else value(row)}"
            + f" ({own or 'undefined'})" * apart
            for row, own in zip(rows, states, strict=True)
        )
    return Line("open" if apart else GOOD.get(state, "open"), chip, name, text)


def without_help(story: Story, part: Part, rows: Sequence[Row]) -> list[Row]:
    """Scores under a policy of systems that have no penalised score, as nobody helped them."""
    if not any(r.measure == "penalised_score" for r in rows):
        return []
    told, score = {system_of(r) for r in rows}, rows[0].parameters.get("variant", "")
    wanted = f"policy_score:{score}"
    return [r for r in newest_rows(story, part) if r.label == wanted and system_of(r) not in told]


def _unhelped(story: Story, row: Row) -> Line:
    """The line of a system that adapts without a person: nothing to pay, so no penalty."""
    line = line_of(story, row)
    return replace(line, text=f"{line.text}; policy_score, without help and so without a penalty")


def line_of(story: Story, row: Row) -> Line:
    """`26% [25%, 27%] with a penalty of 6% [5%, 7%] for the help; frozen 30%`, and the verdict."""
    found = measures_beside(story.whole, row)
    frozen, state = has_start(story, row), _against_start(row)
    gain = found.get("generalisation_gain")
    look, chip = GOOD.get(state, "open"), (CHIPS if frozen else NAIVE).get(state, state)
    text, cost, penalised = plain(row), found.get("penalty"), row.measure == "penalised_score"
    if penalised and row.value is not None and cost is not None and cost.value is not None:
        text += f" with a penalty of {plain(cost)} for the help"
    if not frozen and penalised and gain is not None:
        # Without an initial version: whether the help brought more than it cost.
        look, chip = GAINS.get(verdict_of(gain), ("open", verdict_word(gain)))
        state = ""
    elif row.naive is not None:
        text += f"; {'frozen' if frozen else 'naive'} {shown_naive(row)}"
    more = more_of(found)
    if state != "same" and (beware := caveats(row)):
        more = ". But ".join(filter(None, (more, f"{beware}.")))
    return Line(look, chip, system_of(row), text, more)


def _against_start(row: Row) -> str:
    """On which side of its reference a row lies, or that it has no interval to say so."""
    return NO_INTERVAL if row.naive is not None and lacks_interval(row) else against_naive(row)


def system_of(row: Row) -> str:
    """The system of a row, with the way it lived where that is not as it was configured."""
    return isolated(name_in(row.dims))


def more_of(found: dict[str, Row]) -> str:
    """Base and adapted score, gain by generalisation, minimal supervision and what help took."""
    if "base_score" not in found and "adapted_score" in found and "policy_score" in found:
        found = {**found, "base_score": found["policy_score"]}  # the same figure
    names = {
        "base_score": "before the help",
        "adapted_score": "after it",
        "generalisation_gain": "gain by generalisation",
        "msr": "minimal supervision rate",
    }
    known = {name: found[key] for key, name in names.items() if key in found}
    said = [f"{name} {plain(row)}" for name, row in known.items() if row.value is not None]
    return "; ".join((*said, *_help(found)))


def _help(found: dict[str, Row]) -> list[str]:
    """`help on the test data: 12 corrections, 340 seconds`; nothing where that is not known."""
    values = [(noun, found[key].value) for key, noun in HELP.items() if key in found]
    took = ", ".join(counted(round(v, 1), noun) for noun, v in values if v is not None)
    return [f"help on the test data: {took}"] * bool(took)


def policy_of(row: Row) -> str:
    """The policy that a row is under; empty for none."""
    return row.dims.get("policy", "")


def _pair_of(row: Row) -> str:
    return f"{system_of(row)}, against {row.baseline}"


def newest_rows(story: Story, part: Part) -> list[Row]:
    """The rows of the newest versions that learn, whole data."""
    return [r for r in newest(story.whole) if part_of(r) == part and lived(r)]


def _forgetting(story: Story, part: Part) -> dict[str, Line]:
    """The forgetting of each system; a maximum alone is no verdict."""
    lines: dict[str, Line] = {}
    for row in newest_rows(story, part):
        if row.measure in ("forgetting_first", "backward_transfer"):
            look, chip = FORGETS.get(verdict_of(row), ("open", verdict_word(row)))
            line = Line(look, chip, f"{system_of(row)}, forgetting", f"{row.measure} {plain(row)}")
            if row.measure == "forgetting_first" or system_of(row) not in lines:
                lines[system_of(row)] = line
    return lines


def grouped(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Rows by what they have in common, in the order in which that comes first."""
    found: dict[K, list[T]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def main_of(rows: Sequence[Row]) -> str:
    """Label of the measure that a page speaks of: the penalised score where it is defined."""
    order = (
        *(r for name in MAINS for r in rows if r.measure == name and r.value is not None),
        *(r for name in MAINS for r in rows if r.measure == name),
        *rows,
    )
    return order[0].label if order else ""


def newest(rows: Sequence[Row]) -> list[Row]:
    """The rows of the last version of a system, in their order."""
    last: dict[tuple[object, ...], Row] = {}
    for row in rows:
        last[_case(row)] = row
    return [row for row in rows if last[_case(row)] is row]


def _case(row: Row) -> tuple[object, ...]:
    """The key of what has versions: a measure of a system, as a value or against another one."""
    about = sorted((name, text) for name, text in row.dims.items() if name != "version")
    return row.label, row.kind, row.baseline, *about


def lived(row: Row) -> bool:
    """Whether a row is of a system that learns: the frozen one is the reference of all others."""
    return row.dims.get("strategy") != FROZEN


def measures_beside(rows: Sequence[Row], row: Row) -> dict[str, Row]:
    """The measures of what a row is about, by name; those without a policy hold under each."""
    found: dict[str, Row] = {}
    for other in rows:
        own = [
            (r.dims.get("policy"), r.parameters.get("variant"), {**r.dims, "policy": ""})
            for r in (other, row)
        ]
        if all(a == b or None in (a, b) for a, b in zip(*own, strict=True)):
            found.setdefault(other.measure, other)
    return found
