"""What the verdict says of systems that learn across time: what each costs under which policy."""

from collections.abc import Sequence
from dataclasses import replace

from truecost.core.digits import between, counted, figure, percent, signed
from truecost.core.results import Row, figures, shown, verdict_of
from truecost.report.plots.look import short
from truecost.report.plots.policy_forest import name_in
from truecost.report.section import Group, Line
from truecost.report.story import Part, Story, part_of
from truecost.report.verdict import costs, worst
from truecost.report.words import against_naive, caveats, isolated, listed, titles_of
from truecost.tasks.lifelong.descriptions import LifelongDescription
from truecost.tasks.lifelong.newest_rows import (
    FORGETTING,
    HELP,
    OFFLINE,
    UNHELPED,
    beside,
    lived,
    newest,
)

MOST = 8  # lines of a policy that stand open
POLICIES = 4  # that stand open
CHIP = 16  # letters of a name on a chip
CHIPS = {  # against the initial version, kept frozen
    "better": "beats frozen",
    "worse": "loses to frozen",
    "same": "same as frozen",
    "inconclusive": "inconclusive",
}
NAIVE = {**CHIPS, "better": "better than naive", "worse": "worse than naive"}
NAIVE |= {"same": "same as naive"}
LOOKS = {"better": "good", "worse": "bad"}
GAINS = {  # of the gain by generalisation
    "better": ("good", "worth the help"),
    "worse": ("bad", "not worth it"),
    "same": ("open", "pays for itself"),
}
FORGETS = {
    "better": ("good", "nothing lost"),
    "worse": ("bad", "forgets"),
    "same": ("open", "no change"),
}
BIASED = {"forgetting_max": " (against a maximum, so above 0 by chance alone)"}


def about_lives(story: Story, row: Row) -> str:
    """What the main figure is, and what it is held against."""
    said = f"{story.main}: {row.direction} is better. "
    if row.measure == "penalised_score":
        said += (
            "The score after the person's help and, as its cost in the same unit, what was "
            "corrected (paper 004, Eq. 1). "
        )
    if "policy" in row.dims:
        said += (
            "The newest version on the test data of all times up to its own, weighed by what the "
            "user cares about: the policy (paper 004, Eq. 2 and 3). "
        )
    if has_start(story, row):
        said += "Frozen is the initial version, which never learns, on the same data. "
    return f"{said}In brackets the {percent(row.level)} interval."


def titles(story: Story) -> tuple[str, str] | None:
    """Title and heading where some systems had help and others none; None otherwise."""
    said = lived_said(story)
    return titles_of(said) if said else None


def verdict(story: Story) -> list[Group]:
    """What each system comes to, policy by policy, and the worst subset."""
    return [*(life_groups(story) or costs(story)), *worst(story)]


def lived_said(story: Story) -> str:
    """The systems for the heading: those that were helped by name, their baselines by number.

    Empty where none, or all, of them are baselines.
    """
    bare = {r.dims["system"] for r in story.values if r.dims.get("strategy") in UNHELPED}
    helped = [name for name in story.systems if name not in bare]
    if not helped or not bare:
        return ""
    return f"{listed(helped, 3)}, beside {counted(len(bare), 'baseline')} without help"


def has_start(story: Story, row: Row) -> bool:
    """Whether the reference of a row is the initial version; otherwise it is the naive baseline."""
    every = story.described_as(LifelongDescription)
    own = [d for d in every if d.dims.get("system") == row.dims.get("system")]
    return row.naive is not None and any(None in d.learnt for d in own)


def life_groups(story: Story) -> list[Group]:
    """A group for each policy with a line for each system, then forgetting and help offline."""
    groups: list[Group] = []
    for part in story.parts:
        found = _policies(story, part)
        groups += found[:POLICIES]
        groups += [_folded(found[POLICIES:])] if found[POLICIES:] else []
        groups += [g for g in (_forgetting(story, part), _offline(story, part)) if g.lines]
    return groups


def _folded(groups: Sequence[Group]) -> Group:
    """Policies beyond those that stand open."""
    lines = [
        Line(x.look, x.chip, f"{g.title}: {x.name}", x.text, x.more)
        for g in groups
        for x in (*g.lines, *g.folded)
    ]
    return Group("", (), tuple(lines), f"{counted(len(groups), 'more policy')}")


def _policies(story: Story, part: Part) -> list[Group]:
    """What each system comes to, and how they compare, policy by policy."""
    rows = [r for r in story.mains(part) if lived(r)]
    bare = without_help(story, part, rows)
    pairs = [p[0] for p in story.main_pairs(part) if lived(p[0])]
    groups = []
    for policy in dict.fromkeys(r.dims.get("policy", "") for r in rows):
        lines = [line_of(story, r) for r in rows if r.dims.get("policy", "") == policy]
        lines += [_unhelped(story, r) for r in bare if r.dims.get("policy", "") == policy]
        lines += [_difference(r) for r in pairs if r.dims.get("policy", "") == policy]
        title = ": ".join(filter(None, (part.name, _said(story, policy))))
        rest = tuple(lines[MOST:])
        groups.append(Group(title, tuple(lines[:MOST]), rest, f"{len(rest)} more"))
    return groups


def without_help(story: Story, part: Part, rows: Sequence[Row]) -> list[Row]:
    """Scores under a policy of systems that have no penalised score, as nobody helped them."""
    if not any(r.measure == "penalised_score" for r in rows):
        return []
    told, score = {system_of(r) for r in rows}, rows[0].parameters.get("variant", "")
    wanted = f"policy_score:{score}"
    return [r for r in _of_part(story, part) if r.label == wanted and system_of(r) not in told]


def _unhelped(story: Story, row: Row) -> Line:
    """The line of a system that adapts without a person: nothing to pay, so no penalty."""
    line = line_of(story, row)
    return replace(line, text=f"{line.text}; policy_score, without help and so without a penalty")


def _said(story: Story, policy: str) -> str:
    """The policy with what it wants: `recent:3 (the newest data count most)`."""
    if not policy:
        return ""
    every = story.described_as(LifelongDescription)
    says = next((p.says for d in every for p in d.policies if p.name == policy), "")
    return f"Policy {policy}" + (f" ({says})" if says else "")


def line_of(story: Story, row: Row) -> Line:
    """The verdict on one system under one policy."""
    found = beside(story.whole, row)
    frozen = has_start(story, row)
    gain = found.get("generalisation_gain")
    if not frozen and row.measure == "penalised_score" and gain is not None:
        return _gaining(row, found, gain)
    state = against_naive(row)
    more = more_of(found)
    if state != "same" and (beware := caveats(row)):
        more = ". But ".join(filter(None, (more, f"{beware}.")))
    chip = (CHIPS if frozen else NAIVE).get(state, "")
    return Line(LOOKS.get(state, "open"), chip, system_of(row), text_of(row, found, frozen), more)


def _gaining(row: Row, found: dict[str, Row], gain: Row) -> Line:
    """Whether the help brought more than it cost, where there is no initial version."""
    look, chip = GAINS.get(against_zero(gain), ("open", "inconclusive"))
    text = f"{plain(row)}{_penalised(row, found)}"
    more = more_of(found)
    if beware := caveats(row):
        more = f"{more}. But {beware}."
    return Line(look, chip, system_of(row), text, more)


def system_of(row: Row) -> str:
    """The system of a row, with the way it lived where that is not as it was configured."""
    return isolated(name_in(row.dims))


def plain(row: Row) -> str:
    """A value with its interval, or why there is none."""
    if row.value is None:
        return row.reason or "undefined"
    return " ".join(filter(None, figures(row)))


def text_of(row: Row, found: dict[str, Row], frozen: bool) -> str:
    """`26% [25%, 27%], of which 6% [5%, 7%] is the penalty; frozen 30%`."""
    said = plain(row)
    if row.measure == "penalised_score" and row.value is not None:
        said += _penalised(row, found)
    if row.naive is not None:
        said += f"; {'frozen' if frozen else 'naive'} {shown(row, row.naive)}"
    return said


def _penalised(row: Row, found: dict[str, Row]) -> str:
    """What of a penalised score is the penalty, and what share of an error rate that is."""
    cost = found.get("penalty")
    if cost is None or cost.value is None:
        return ""
    of = "of which" if row.direction == "lower" else "from which"
    verb = "is the penalty of the help" if row.direction == "lower" else "is taken as the penalty"
    size = _sized(cost, 1.0 if row.direction == "lower" else -1.0)
    share = ""
    if row.direction == "lower" and row.value and 0 <= cost.value <= row.value:
        share = f" ({100 * cost.value / row.value:.0f}% of it)"
    return f", {of} {size} {verb}{share}"


def _sized(row: Row, sign: float) -> str:
    """A value with its interval; of a quality the penalty is told as what is lost."""
    moved = [None if v is None else sign * v for v in (row.value, row.lower, row.upper)]
    lower, upper = moved[1:] if sign > 0 else moved[:0:-1]
    return " ".join(filter(None, (figure(moved[0], row.scale), between(lower, upper, row.scale))))


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
    said = [
        f"{name} {plain(found[key])}"
        for key, name in names.items()
        if key in found and found[key].value is not None
    ]
    if took := amounts(found, HELP):
        said.append(f"help on the test data: {took}")
    return "; ".join(said)


def amounts(found: dict[str, Row], names: dict[str, str]) -> str:
    """`12 corrections, 340 seconds, 96 words`: what help took, where it is known."""
    values = [(noun, found[key].value) for key, noun in names.items() if key in found]
    return ", ".join(counted(round(v, 1), noun) for noun, v in values if v is not None)


def _difference(row: Row) -> Line:
    """The comparison of two systems under a policy."""
    said = verdict_of(row)
    than = short(row.baseline or "", CHIP)
    chip = f"{said} than {than}" if said in ("better", "worse") else said
    name = f"{system_of(row)}, against {row.baseline}"
    if row.value is None:
        return Line("open", chip, name, f"difference {row.reason or 'undefined'}")
    text = f"difference {signed(row.value, row.scale)} {between(row.lower, row.upper, row.scale)}"
    more = "The data do not tell which of the two is better." if said == "inconclusive" else ""
    return Line(LOOKS.get(said, "open"), chip, name, text, more)


def _of_part(story: Story, part: Part) -> list[Row]:
    """The rows of the newest versions that learn, whole data."""
    return [r for r in newest(story.whole) if part_of(r) == part and lived(r)]


def _by_system(rows: Sequence[Row], names: Sequence[str]) -> dict[str, dict[str, Row]]:
    """Rows of some measures by system and measure; of several scores the first."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.measure in names:
            found.setdefault(system_of(row), {}).setdefault(row.measure, row)
    return found


def _forgetting(story: Story, part: Part) -> Group:
    """What each system lost of what it could do before."""
    lines = []
    for system, rows in _by_system(_of_part(story, part), FORGETTING).items():
        main = rows.get("forgetting_first") or rows.get("backward_transfer")
        if main is None:
            continue  # a maximum alone decides nothing
        look, chip = FORGETS.get(against_zero(main), ("open", "inconclusive"))
        others = [
            f"{name} {plain(r)}{BIASED.get(name, '')}" for name, r in rows.items() if r is not main
        ]
        first = f"{main.measure} {plain(main)}"
        lines.append(Line(look, chip, system, first, "; ".join(others)))
    title = "Forgetting: what the newest version lost on the past"
    return Group(": ".join(filter(None, (part.name, title))), tuple(lines))


def against_zero(row: Row) -> str:
    """On which side of 0, of nothing lost, the whole interval lies."""
    if row.value is None or row.lower is None or row.upper is None or row.often_undefined:
        return "inconclusive"
    if row.lower == row.upper == row.value == 0:
        return "same"
    side = {True: "worse", False: "better"}
    if row.lower > 0 or row.upper < 0:
        return side[(row.lower > 0) == (row.direction == "lower")]
    return "inconclusive"


def _offline(story: Story, part: Part) -> Group:
    """What people did away from the test data: in its own units, never part of a score."""
    lines = []
    for system, rows in _by_system(_of_part(story, part), [*OFFLINE]).items():
        took = amounts(rows, OFFLINE)
        if took and any(r.value for r in rows.values()):
            lines.append(Line("open", "", system, took))
    title = "Help offline: beside the scores, never added to them"
    return Group(": ".join(filter(None, (part.name, title))), tuple(lines))
