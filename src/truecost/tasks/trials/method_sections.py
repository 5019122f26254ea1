"""Sections on methods: what may be claimed, what made the runs vary, what single runs would say."""

from truecost.core.digits import between, figure, percent
from truecost.core.single_runs import SingleRuns
from truecost.core.variance import Share, Variance
from truecost.report import plots
from truecost.report.lines import Line
from truecost.report.section import Section, drawing_of, told
from truecost.report.story import Story
from truecost.report.tables import used
from truecost.tasks.trials.descriptions import Claim

LOOKS = {"better": "good", "worse": "bad"}  # of a verdict; others leave it open


def claims(story: Story) -> Section | None:
    """What may be claimed, and what comparing single runs would have said."""
    if not story.described_as(Claim):
        return None
    lines = tuple(
        Line(
            LOOKS.get(claim.verdict, "open"),
            claim.verdict,
            ", ".join([*claim.dims.values(), f"{claim.system} against {claim.against}"]),
            claim.text[:1].upper() + claim.text[1:] + ".",
        )
        for claim in story.described_as(Claim)
    )
    pairs = [s for s in story.described_as(SingleRuns) if s.pairs > 1]
    rows = [
        (
            *(", ".join(s.dims.values()), s.system, s.against, s.measure, str(s.pairs)),
            *(percent(round(n / s.pairs, 4)) for n in (s.better, s.worse, s.undecided)),
        )
        for s in pairs
    ]
    names = ("of", "method", "against", "measure", "pairs", "better", "worse", "undecided")
    caption = "Had one run of each been compared: how many pairs of runs decide, and how"
    tables = (used(caption, names, rows),) if rows else ()
    text = (
        "A claim is about methods when it holds over seeds and training sets, and about one "
        "training list when that was held."
    )
    if rows:
        text += (
            " Single runs are compared by the units of the test alone: where pairs decide for both "
            "sides, one run of each misleads."
        )
    return Section("What may be claimed", text, tables=tables, lines=lines)


def variance(story: Story) -> Section | None:
    """What seed, training set and test add to the variance of one run."""
    found = [one for one in story.described_as(Variance) if one.shares]
    main = plots.having_shares([one for one in found if one.measure == story.main])
    if not found:
        return None
    names = ("method", "of", "measure", "varied by", "share", "interval", "standard deviation")
    rows = [
        (one.system, ", ".join(one.dims.values()), one.measure, *_cells(share))
        for one in found
        for share in one.shares
    ]
    table = used("Shares of variance: numbers", names, rows)
    text = (
        "The variance of one more run: with another seed, another training set and another test. "
        "What the test adds is what the intervals of a single run show; the rest they leave out."
    )
    if not main:
        return Section("What makes runs vary", text, tables=(table,))
    words = f"Shares of the variance of {story.main}: " + told(_words(one) for one in main)
    drawing = drawing_of(plots.variance_shares, main, plots.variance_shares_height, words, table)
    return Section("What makes runs vary", text, (drawing,))


def _cells(share: Share) -> tuple[str, str, str, str]:
    """The source, its share, the interval and the standard deviation."""
    lower, upper = (None if end is None else round(end, 3) for end in (share.lower, share.upper))
    of = "undefined" if share.share is None else figure(round(share.share, 3), "%")
    return share.source, of, between(lower, upper, "%"), figure(share.variance**0.5)


def _words(one: Variance) -> str:
    shares = (f"{s.source} {_cells(s)[1]}" for s in one.shares)
    return f"{', '.join([*one.dims.values(), one.system])} {', '.join(shares)}"
