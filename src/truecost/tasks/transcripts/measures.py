"""Measures of sequences of words, phones or characters: what an alignment with the reference costs.

`words` and `characters` are tallies with the statistics `reference` and `hypothesis` (units on each
side), `hits`, `substitutions`, `deletions`, `insertions` (of a minimal alignment), and `longest`
(the sum over utterances of the longer of the two sides). The naive baseline puts out nothing: every
unit is deleted. Rates are shares, shown in percent; sums are divided, rates are never averaged.
Source: paper 003, section 3.2.
"""

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.item_rules import of_sums
from truecost.core.measure import Array, Floats, Measure, Rate, Result, Rule, share


def _errors(totals: Totals, part: str) -> Array:
    """Substitutions + deletions + insertions."""
    kinds = ("substitutions", "deletions", "insertions")
    return np.asarray(np.sum([totals.sums(part, kind) for kind in kinds], axis=0))


def _rate(totals: Totals, part: str, errors: Array, whole: Array) -> Floats:
    """Errors / whole, undefined where the reference has no units."""
    return np.where(totals.sums(part, "reference") > 0, share(errors, whole), np.nan)


def wer(totals: Totals, application: Application) -> Result:
    """Word error rate: (substitutions + deletions + insertions) / words of the reference.

    Range [0, inf), lower is better; the reference puts out nothing and gets 1.0 (100 %). Undefined
    when the reference has no words. Dividing by the words of the hypothesis is a mistake (paper 003
    names it): a system would gain from inserting words. Paper 003, section 3.2.
    """
    del application
    errors = _errors(totals, "words")
    return _rate(totals, "words", errors, totals.sums("words", "reference")), 1.0


def per(totals: Totals, application: Application) -> Result:
    """Phone error rate: the word error rate of texts whose words are phones.

    Range [0, inf), lower is better; the reference puts out nothing and gets 1.0 (100 %). Undefined
    when the reference has no phones. Paper 003, section 3.2.
    """
    return wer(totals, application)


def cer(totals: Totals, application: Application) -> Result:
    """Character error rate: (substitutions + deletions + insertions) / characters of the reference.

    Characters are code points, the blanks between words among them. Range [0, inf), lower is
    better; the reference puts out nothing and gets 1.0 (100 %). Undefined when the reference has no
    characters. Paper 003, section 3.2.
    """
    del application
    errors = _errors(totals, "characters")
    return _rate(totals, "characters", errors, totals.sums("characters", "reference")), 1.0


def mer(totals: Totals, application: Application) -> Result:
    """Match error rate: errors / (hits + errors), the share of aligned places that are wrong.

    Range [0, 1], lower is better; the reference puts out nothing and gets 1.0. Undefined when the
    reference has no words. It depends on which of several minimal alignments is taken. Morris,
    Maier and Green, "From WER and RIL to MER and WIL", Interspeech 2004.
    """
    del application
    errors = _errors(totals, "words")
    return _rate(totals, "words", errors, errors + totals.sums("words", "hits")), 1.0


def bounded_wer(totals: Totals, application: Application) -> Result:
    """Bounded word error rate: errors / sum over utterances of the longer side.

    No alignment has more errors than the longer of reference and hypothesis has words. Range
    [0, 1], lower is better; the reference puts out nothing and gets 1.0. Undefined when the
    reference has no words.
    """
    del application
    errors = _errors(totals, "words")
    return _rate(totals, "words", errors, totals.sums("words", "longest")), 1.0


def unit_accuracy(totals: Totals, application: Application) -> Result:
    """Unit accuracy: words of the reference that were put out / words of the reference.

    Range [0, 1], higher is better; the reference puts out nothing and gets 0. Undefined when the
    reference has no words. It does not see insertions. Paper 003, section 3.2.
    """
    del application
    hits = totals.sums("words", "hits")
    return _rate(totals, "words", hits, totals.sums("words", "reference")), 0.0


WORDS, PAPER = ("words",), "paper 003, 3.2"
ERRORS = "substitutions+deletions+insertions"


def _of_places(part: str) -> Rule:
    """Errors over units of the reference: an inserted unit is a trial too, so that no unit has more
    errors than trials.
    """

    def rates(totals: Totals, application: Application) -> list[Rate]:
        del application
        units, inserted = (float(totals.sums(part, n)[0]) for n in ("reference", "insertions"))
        more = (units + inserted) / units if units > 0 else 1.0
        return of_sums(totals, part, ERRORS, "reference+insertions", more)

    return Rule(rates=rates, edge=True, size=(part, "reference"))


def _over(trials: str) -> Rule:
    """Errors over words that are at least as many."""
    return Rule(
        rates=lambda totals, _: of_sums(totals, "words", ERRORS, trials),
        edge=True,
        bounds=(0.0, 1.0),
        size=("words", "reference"),
    )


def _missing(totals: Totals) -> list[Rate]:
    """Words that were not put out."""
    return of_sums(totals, "words", "substitutions+deletions", "reference", -1.0)


NO_WORDS, NOTHING = "the references have no words", "neither side has words"
MEASURES = (
    Measure(
        "wer",
        wer,
        WORDS,
        "Word error rate",
        "lower",
        PAPER,
        uses=(),
        undefined=NO_WORDS,
        shown_in="percent",
        interval=_of_places("words"),
    ),
    Measure(
        "cer",
        cer,
        ("characters",),
        "Character error rate",
        "lower",
        PAPER,
        uses=(),
        undefined=NO_WORDS,
        shown_in="percent",
        interval=_of_places("characters"),
    ),
    Measure(
        "per",
        per,
        WORDS,
        "Phone error rate",
        "lower",
        PAPER,
        uses=(),
        undefined=NO_WORDS,
        shown_in="percent",
        interval=_of_places("words"),
    ),
    Measure(
        "mer",
        mer,
        WORDS,
        "Match error rate",
        "lower",
        "Morris et al. 2004",
        uses=(),
        undefined=NOTHING,
        cites=("mer",),
        shown_in="percent",
        interval=_over("hits+substitutions+deletions+insertions"),
    ),
    Measure(
        "bounded_wer",
        bounded_wer,
        WORDS,
        "Bounded word error rate",
        "lower",
        "errors over the most there can be",
        uses=(),
        undefined=NO_WORDS,
        shown_in="percent",
        interval=_over("longest"),
    ),
    Measure(
        "unit_accuracy",
        unit_accuracy,
        WORDS,
        "Unit accuracy",
        "higher",
        PAPER,
        advice="it hides insertions: a system that puts out many more words loses nothing; "
        "read it beside wer",
        rule="insertions-hidden",
        uses=(),
        undefined=NO_WORDS,
        shown_in="percent",
        interval=Rule(
            "log1m", lambda totals, _: _missing(totals), edge=True, size=("words", "reference")
        ),
    ),
)
