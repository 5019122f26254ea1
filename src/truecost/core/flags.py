"""Flags: what a reader of a row should beware of, and every wording of it, in one place."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Flag:
    """A flag of a row in the words of each reader.

    Attributes
    ----------
    name : str
        As it stands in `Row.flags`.
    mark : str
        In a table on a terminal; empty where the advice is enough.
    advice : str
        In `problems`: what it means and what to do.
    caveat : str
        Beside a value in a report; empty where it would not change how the value is read.
    beware : str
        Beside the verdict of a gate; the mark when left out.
    sides : str
        The advice where a trial is a pair of an enrolment and a test, if that is another.
    weak : bool
        Whether the value rests on so little that pictures draw it hollow.
    rule : str
        Id of the rule of `truecost.advice` that it belongs to, if any.
    """

    name: str
    mark: str
    advice: str
    caveat: str = ""
    beware: str = ""
    sides: str = ""
    weak: bool = False
    rule: str = ""


_ALL = (
    Flag(
        "trials_as_units",
        "",
        "no unit was named, so each trial is resampled on its own: when trials share a speaker or "
        "session the intervals are too narrow; --map unit=COLUMN",
        caveat="trials were resampled one by one",
        beware="each trial was its own unit",
        rule="ignore-correlation",
        sides="no unit was named, so each trial is resampled on its own: trials of the same "
        "speakers make the intervals too narrow; with a file of speakers (id, speaker) say "
        "--metadata enroll=FILE --metadata test=FILE --map unit=enroll.speaker+test.speaker",
    ),
    Flag(
        "items_as_units",
        "",
        "no unit was named, so each item (utterance, sentence) is resampled on its own: when items "
        "share a speaker, user or document the intervals are too narrow; --map unit=COLUMN",
        caveat="items were resampled one by one",
        beware="each item was its own unit",
        rule="ignore-correlation",
    ),
    Flag(
        "few_units",
        "few units",
        "few units: the interval covers less than it says. A 95 % percentile interval covers about "
        "92 % at 20 units and 83 % at 6 (--method auto knows better); that of a diarization error "
        "rate about 93 % below 20 recordings, that of forgetting about 90 % below 10 seeds",
        caveat="the interval is too narrow: few units",
        weak=True,
        rule="too-few-units",
    ),
    Flag(
        "few_effective_units",
        "few effective units",
        "a few units carry most of a figure (fewer than 8 effective units, by what each holds and "
        "adds to it): a 95 % CI may cover about 90 %. Collect more units, or more equal ones",
        caveat="a few units carry the value",
        weak=True,
        rule="too-few-units",
    ),
    Flag(
        "clustered_errors",
        "",
        "fewer than 20 effective units with several trials each: if errors of a unit strongly go "
        "together a 95 % CI may cover about 93 %, with very unequal units 90 %, where they nearly "
        "coincide 84 %. Collect more units, or say how much they go together (--icc)",
        caveat="few units: errors of a unit may go together more than assumed",
        beware="few units with several trials each",
        rule="too-few-units",
    ),
    Flag(
        "rare_losses",
        "",
        "50 trials of a class or fewer, each resampled on its own: rare large losses may not "
        "have been seen (a 95 % CI covers about 74 % with 8 trials, 89 % with 20, 94 % with 50)",
        caveat="rare large losses may not have been seen",
        beware="rare large losses may not have been seen",
        weak=True,
        rule="too-few-units",
    ),
    Flag(
        "in_order",
        "",
        "units in order of time: the interval holds for a correlation of neighbours up to about "
        "0.5; at 0.8 a 95 % CI covers 84 % (20 units) to 92 % (60 units)",
        caveat="neighbours in time may hang together more than assumed",
        beware="units in order of time",
        rule="ignore-correlation",
    ),
    Flag(
        "few_runs",
        "few runs",
        "fewer than 20 runs: as far as runs vary, the interval covers less than it says (were all "
        "variation in the runs, a 95 % one of the mean about 0.83 with 5 runs and 0.90 with 10, of "
        "one run 0.66 and 0.81)",
        caveat="the interval is too narrow: few runs",
        rule="one-seed",
    ),
    Flag(
        "few_errors",
        "few errors",
        "fewer than 10 errors of a kind that a measure counts: its interval rests on very few "
        "events",
        caveat="it rests on very few errors",
        weak=True,
        rule="too-few-units",
    ),
    Flag(
        "no_spread",
        "no spread",
        "an interval without width: the data have too few errors or units to say how sure it is",
        caveat="the interval has no width",
        weak=True,
        rule="too-few-units",
    ),
    Flag(
        "crossed",
        "conservative",
        "crossed factors: the interval is conservative, up to three times the variance where the "
        "noise is that of single trials",
        beware="conservative interval of crossed factors",
    ),
    Flag(
        "undefined_replicates",
        "some replicates undefined",
        "in some replicates a measure is undefined: they are counted and left out of its interval",
    ),
    Flag(
        "uncorrected",
        "uncorrected",
        "machine labels alone: right only if the machine's mean probability is the true share in "
        "each arm and agreement cell; some 100 human labels a cell correct it (truecost abba "
        "select chooses them)",
        caveat="machine labels, uncorrected",
        beware="machine labels, uncorrected",
    ),
    Flag(
        "other_side",
        "disagrees",
        "machine labels and human labels put a ratio on different sides of 1, and one of the "
        "intervals leaves out 1: trust the human labels",
        caveat="human labels say the opposite",
        beware="human labels say the opposite",
    ),
    Flag(
        "label_mix",
        "label mix differs",
        "the share of true accepts among the items that both models accept differs between the "
        "arms: the pooled estimate assumes that it is the same; trust the direct one",
        caveat="it assumes an equal label mix, which the data contradict",
        beware="its assumption does not hold",
    ),
    Flag(
        "small_cells",
        "small cells",
        "fewer than 5 items of the label in a cell: the interval is that of the delta method with "
        "half an item added to each cell",
        caveat="few items in a cell",
        weak=True,
    ),
    Flag(
        "broken_replicates",
        "delta method",
        "more than 1 % of the replicates are undefined or infinite: the interval is that of the "
        "delta method with half an item added to each cell",
        caveat="too many undefined replicates",
        weak=True,
    ),
    Flag(
        "few_labels",
        "few labels",
        "fewer than 100 human labels in a cell: the corrected interval has one residual of +1 or "
        "-1 more in each such cell, whichever widens it",
        caveat="few human labels",
    ),
    Flag(
        "clipped",
        "clipped",
        "a corrected total of a cell lay outside 0 to its number of items and was clipped",
        caveat="a corrected total was clipped",
    ),
    Flag(
        "not_llrs",
        "scores taken as LLRs",
        "nothing says that the scores are natural-log likelihood ratios, which Cnxe takes them "
        "for: --type llr where they are; min_cnxe does not depend on it",
        caveat="scores were taken as log-likelihood ratios",
    ),
    Flag(
        "nothing_below",
        "nothing below the threshold",
        "every detection that was submitted is accepted: the curves end at the system's threshold, "
        "so MTWV, DET and Cnxe mean little; submit detections far below it",
        caveat="nothing was submitted below the threshold",
    ),
    Flag(
        "floors_differ",
        "lowest scores differ",
        "the lowest submitted scores of the queries lie far apart: the one score that all "
        "unsubmitted trials get fits few of them (paper 002, footnote 6)",
        caveat="the lowest scores of the queries differ much",
    ),
    Flag(
        "floor_costs",
        "unsubmitted trials cost most",
        "the trials that were not submitted cost more than the prior alone would: the lowest "
        "submitted score, which they all get, is far too high (or low) for them; submit detections "
        "down to lower scores, or give the score that they should have (--floor)",
        caveat="trials that were not submitted cost more than the prior",
    ),
    Flag(
        "vanished",
        "queries vanish",
        "in some replicates queries have no occurrence left: they are left out of its mean; the "
        "row's counts say what share they are",
    ),
    Flag(
        "uninformative",
        "reversed or uninformative",
        "the best affine map of the scores does not rise with them: they tell nothing of the "
        "targets, or the opposite",
        caveat="scores are reversed or uninformative",
    ),
    Flag(
        "separated",
        "separable",
        "the scores tell all targets from all nontargets: the least cross entropy is 0",
    ),
    Flag(
        "outside",
        "outside its interval",
        "the value lies outside its own interval: its replicates are biased, and nothing is "
        "concluded from it. Of a stream the ends weigh less than the middle in moving blocks: look "
        "at them alone (--subset), or resample seeds; of a predictor there are too few units: add "
        "some; the best of many versions (forgetting_max) is better by chance the more "
        "the scores vary, and they vary more in replicates: look at forgetting_first",
        caveat="the value lies outside its interval",
        weak=True,
    ),
    Flag(
        "best_of_many",
        "best of several",
        "the best of several systems that were scored on this evaluation set is good by luck too: "
        "say of how many it is the best, or score it on data that had no part in the choice",
        caveat="the best of several on this evaluation set: optimistic",
        beware="the best of several on this evaluation set",
        rule="best-of-many",
    ),
    Flag(
        "alone",
        "alone",
        "a difference marked alone holds by its own interval, but not among all comparisons of its "
        "measure in this run (step-down of Romano and Wolf, 2005): of many intervals some exclude "
        "0 by chance; say before you look which comparison decides, or collect more units",
        caveat="it holds alone, not among all comparisons of its measure in this run",
        beware="holds alone, not among all comparisons of its measure in this run",
    ),
)
FLAGS = {flag.name: flag for flag in _ALL}


def raised(**found: bool) -> tuple[str, ...]:
    """The names of the flags that hold.

    Parameters
    ----------
    **found : bool
        Whether each holds, by its name.

    Returns
    -------
    tuple of str
        In the order given.

    Raises
    ------
    KeyError
        When a flag is not in `FLAGS`.
    """
    return tuple(FLAGS[name].name for name, holds in found.items() if FLAGS[name] and holds)


def telling(names: Sequence[str]) -> tuple[str, ...]:
    """The flags of a row to tell of: with few runs no interval is called conservative."""
    return tuple(name for name in names if not (name == "crossed" and "few_runs" in names))


def marks(names: Sequence[str]) -> list[str]:
    """What a table says of the flags of a row; of one of another version its name in words."""
    found = (FLAGS[n].mark if n in FLAGS else n.replace("_", " ") for n in telling(names))
    return [mark for mark in found if mark]


def notes(names: Sequence[str]) -> list[str]:
    """The same where no advice stands near, so that no flag is left out."""
    return [mark for name in telling(names) for mark in (marks([name]) or [beware(name)])]


def beware(name: str) -> str:
    """What the verdict of a gate says of a flag; its name in words for one of another version."""
    flag = FLAGS.get(name)
    return name.replace("_", " ") if flag is None else flag.beware or flag.mark
