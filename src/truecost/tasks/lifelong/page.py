"""The page of life cycles."""

from collections.abc import Callable, Sequence

from truecost.core.results import Row
from truecost.names import PARTS
from truecost.outputs.page import MOST_CURVES, left_out_of, of_part, plain
from truecost.pictures.picture import Picture
from truecost.pictures.tables import Table, without_empty_columns
from truecost.report.section import Section, joined
from truecost.report.sections import comparison, gates, of_each, spending, subsets
from truecost.report.story import Naive, Page, Part, Story, without_dims
from truecost.report.words import isolated, resampled_of
from truecost.tasks.lifelong import pictures, verdict
from truecost.tasks.lifelong.curves import POLICIES, by_version
from truecost.tasks.lifelong.describing import FROZEN, UNHELPED, lifelong_frame
from truecost.tasks.lifelong.descriptions import LifelongDescription, name_in
from truecost.tasks.lifelong.scoring import ACROSS
from truecost.tasks.lifelong.verdict import HELP, MAINS, OFFLINE, newest_rows

Found = LifelongDescription
DRAWN = {"base": "before the help", "penalised": "with the penalty of the help"}
LOST = (
    "On past data, forgetting_first compares the newest version with the version that was newest "
    "at the time of the data, and forgetting_max with the best of all earlier versions (so it is "
    "above 0 even by chance). backward_transfer is minus forgetting_first; forward_transfer is the "
    "gain on data before a version learns from them."
)
TOOK = "Amounts of help are per run; offline help is not part of any score."


def lives_of(story: Story, part: Part) -> list[Found]:
    """The systems of a part that learn, in their order."""
    own = of_part(story.described_as(LifelongDescription), part)
    own = [d for d in own if d.dims.get("strategy") != FROZEN]
    return sorted(own, key=lambda d: "strategy" in d.dims)  # stable: as configured first


def _shown(story: Story) -> tuple[list[tuple[str, Found]], str]:
    """The systems that are drawn, helped ones alone where some are, and who is left out."""
    every = [(part, d) for part in story.parts for d in lives_of(story, part)]
    helped = [one for one in every if one[1].dims.get("strategy") not in UNHELPED]
    bare = " Systems without help are not drawn." * (0 < len(helped) < len(every))
    every = helped or every
    several = len(every) > 1
    shown = [(joined(isolated(d.name), part.name) * several, d) for part, d in every]
    return shown[:MOST_CURVES], left_out_of(min(len(every), MOST_CURVES), len(every)) + bare


def _alike(shown: Sequence[tuple[str, Found]], found: Found) -> list[Found]:
    """The systems of the same score: their pictures share an axis."""
    return [d for _, d in shown if d.score == found.score]


def _of_each(
    story: Story,
    title: str,
    text: str,
    draw: Callable[..., Picture],
    is_drawn: Callable[[Found], bool],
) -> Section:
    """A picture of each system that has what is drawn, under the first policies."""
    shown, left_out = _shown(story)
    if any(len(d.policies) > POLICIES for _, d in shown):
        text += f" Curves show the first {POLICIES} policies."
    drawings = tuple(draw(d, title=name) for name, d in shown if is_drawn(d))
    return Section(title, text + left_out, drawings)


def under_policies(story: Story) -> Section:
    """Scores under the policies of users, and what each policy wants."""
    found = {}
    for part in story.parts:
        known = [r for r in newest_rows(story, part) if "policy" in r.dims]
        mains = [own for name in MAINS if (own := [r for r in known if r.measure == name])]
        for label, own in verdict.grouped((mains or [[]])[0], lambda row: row.label).items():
            beside = (*own, *verdict.without_help(story, part, own))
            found[joined(label, part.name)] = [*map(without_dims, beside)]
    every = (p for d in story.described_as(LifelongDescription) for p in d.policies)
    says = [f"{name}: {text}" for name, text in {p.name: p.says for p in every}.items() if text]
    text = "Score of the newest version on the test data up to its time. A policy sets the weights."
    text += f" {'; '.join(says)}." if says else ""
    return Section("Policies of users", text, of_each(pictures.policy_scores, found))


def from_version_to_version(story: Story) -> Section:
    """The score under each policy by version."""
    begun = any(row.naive is not None for row in story.whole if row.measure == "policy_score")
    return _of_each(
        story,
        "Scores by version",
        "Dotted line: the initial version, kept frozen; it may be outside the picture." * begun,
        pictures.policy_versions,
        lambda d: any(len(by_version(p, d)) > 1 for p in d.policies[:POLICIES]),
    )


def across_time(story: Story) -> Section:
    """Every version on every test time, before the help and with its penalty."""
    shown, left_out = _shown(story)
    shown = [(n, d) for n, d in shown if d.cells and len(d.times) * len(d.versions) > 1]
    known = [(s, n, d) for s in DRAWN for n, d in shown if any(c.state == s for c in d.cells)]
    several = len({state for state, *_ in known}) > 1
    drawings = [
        pictures.score_matrix(
            d,
            state=state,
            beside=_alike(shown, d),
            title=joined(name, DRAWN[state] * several) or d.score,
        )
        for state, name, d in known
    ]
    text = (
        "The score of each version (rows) on the test data of each time (columns): light is "
        "better, and a row that gets darker to the left forgets."
    )
    return Section("Version by time", text + left_out, tuple(drawings))


def weighed_times(story: Story) -> Section:
    """Scores over the test times, the weights of policies above them (Prokopalo et al. 2020, Fig.
    5).
    """
    return _of_each(
        story,
        "Scores and weights by test time",
        "The newest version; above it the weight of each time under each policy.",
        pictures.policy_times,
        lambda d: (
            bool(d.policies)
            and any(c.version in d.versions[-1:] and c.value is not None for c in d.cells)
        ),
    )


def with_penalty(story: Story) -> Section:
    """Scores after help, and the cost of help (Prokopalo et al. 2020, Fig. 4)."""
    drawings = []
    for part in story.parts:
        rows = [without_dims(r) for r in newest_rows(story, part)]
        groups = verdict.grouped(rows, lambda row: row.parameters.get("variant", ""))
        drawn = [(score, own) for score, own in groups.items() if pictures.helped(own)]
        for score, own in drawn:
            title = joined(score * (len(drawn) > 1), part.name)
            drawings.append(pictures.penalised_bars(own, title=title))
    text = (
        "The penalty is the cost of the person's help: the score with corrected parts made wrong, "
        "minus the score with them put right. The gain is the improvement beyond the corrections "
        "themselves."
    )
    return Section("Cost of help", text, tuple(drawings))


def forgetting(story: Story) -> Section:
    """Forgetting and transfer of each system, and what people did, as tables."""
    rows = [r for r in verdict.newest(story.whole) if verdict.lived(r)]
    lost = _by_system(rows, ACROSS, "Forgetting and transfer")
    took = [
        *_by_system(rows, (*HELP, "msr"), "Help on the test data"),
        *_by_system(rows, [*OFFLINE], "Help offline"),
    ]
    title = "Forgetting, transfer and help" if took else "Forgetting and transfer"
    texts = [LOST] * bool(lost) + [TOOK] * bool(took)
    return Section(title if lost else "Help", " ".join(texts), tables=(*lost, *took))


def _by_system(rows: Sequence[Row], names: Sequence[str], caption: str) -> list[Table]:
    """A row for each system and score, and the measures with their intervals side by side."""
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        if row.measure in names:
            about = (*(row.dims.get(n, "") for n in PARTS), name_in(row.dims))
            score = row.parameters.get("variant", "")
            found.setdefault((*about, score), {}).setdefault(row.measure, row)
    known = [n for n in names if any(n in of for of in found.values())]
    if not known:
        return []
    alone = len({about[-1] for about in found}) == 1
    cells = [
        (*about[:-1], "" if alone else about[-1], *(plain(of[n]) if n in of else "" for n in known))
        for about, of in found.items()
    ]
    return [without_empty_columns(caption, (*PARTS, "system", "score", *known), cells)]


def lifelong_set(story: Story) -> Section:
    """The scores on the lifelong set, before and after each version learnt from it."""
    shown, left_out = _shown(story)
    drawings = [
        pictures.lifelong_sequence(d, beside=_alike(shown, d), title=name)
        for name, d in shown
        if d.stream
    ]
    text = (
        "Each version on the data that it learns from. Only test data show how well it generalises."
    )
    return Section("On the lifelong set", text + left_out, tuple(drawings))


def against_cost(story: Story) -> Section:
    """Scores against the cost of help, with the area under each curve (Prokopalo et al. 2020, Fig.
    2).
    """
    groups: dict[str, list[Found]] = {}
    for part in story.parts:
        for d in lives_of(story, part):
            if d.curve is not None and d.curve.points:
                groups.setdefault(joined(d.score, d.curve.cost, part.name), []).append(d)
    text = (
        "Each value is used up to the next point, the last one up to the largest cost. Areas are "
        "divided by "
        "the range of costs; bands are pointwise intervals."
    )
    return Section("Score against cost of help", text, of_each(pictures.learning_curves, groups))


PAGE = Page(
    sections=(
        *(under_policies, across_time, with_penalty, against_cost, spending, forgetting),
        *(comparison, subsets, gates, from_version_to_version, weighed_times, lifelong_set),
    ),
    main=lambda story: verdict.main_of(story.whole or story.rows),
    titles=verdict.titles,
    headline=verdict.headline,
    lead=verdict.about_lives,
    verdict=verdict.verdict,
    newest=verdict.newest,
    drawn=lambda _: (),  # all but the main measure stand in the table
    named=("version",),
    resampled=resampled_of,
    naive=Naive(said="", output=lambda _: "the initial version, kept frozen"),
    curves=lifelong_frame,
)
