"""Transcripts: error rates of words, phones and characters, from an alignment with the reference.

`words` and `characters` are tallies of `reference` and `hypothesis` (units on each side), `hits`,
`substitutions`, `deletions`, `insertions` (of a minimal alignment), and `longest` (the sum over
utterances of the longer side), `cp_words` the same of recordings whose speakers are assigned. The
naive baseline puts out nothing: every unit is deleted. Sums are
divided, rates are never averaged. Source: Ferrer et al. 2024, section 3.2.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.item_rules import error_rule, of_sums, over_reference, percentage, ratio
from truecost.core.measure import Floats, Result, Rule

WORDS, CHARACTERS, PAPER = "words", "characters", "paper 003, 3.2"
SESSIONS = "cp_words"
ERRORS = "substitutions+deletions+insertions"


def _rate(totals: Totals, part: str, errors: str, whole: str) -> Floats:
    """Errors / whole, undefined where the reference has no units."""
    there = totals.sums(part, "reference") > 0
    return np.where(there, ratio(totals, part, errors, whole), np.nan)


def wer(totals: Totals, _: Application) -> Result:
    """Word error rate: `(substitutions + deletions + insertions) / words of the reference`.

    The divisor is the number of words of the reference: with the number of words of the output, a
    system would gain from inserted words. Range [0, inf); lower is better. Naive baseline: 1.0 (an
    empty output). Undefined if the reference has no words. Ferrer et al. 2024, section 3.2.
    """
    return _rate(totals, WORDS, ERRORS, "reference"), 1.0


def per(totals: Totals, _: Application) -> Result:
    """Phone error rate: `(substitutions + deletions + insertions) / phones of the reference`.

    The texts contain phones, separated by spaces. Range [0, inf); lower is better. Naive baseline:
    1.0 (an empty output). Undefined if the reference has no phones. Ferrer et al. 2024, section
    3.2.
    """
    return wer(totals, _)


def cer(totals: Totals, _: Application) -> Result:
    """Character error rate: `(substitutions + deletions + insertions) / characters of the
    reference`.

    Characters are Unicode code points and include the spaces between words. Range [0, inf); lower
    is better. Naive baseline: 1.0 (an empty output). Undefined if the reference has no characters.
    Ferrer et al. 2024, section 3.2.
    """
    return _rate(totals, CHARACTERS, ERRORS, "reference"), 1.0


def mer(totals: Totals, _: Application) -> Result:
    """Match error rate, the share of aligned positions that are wrong: `errors / (errors + hits)`.

    Errors are those of `wer`, and hits are the right words. If several alignments have the fewest
    errors, the value can depend on which of them is used. Range [0, 1]; lower is better. Naive
    baseline: 1.0 (an empty output). Undefined if the reference has no words. Morris, Maier and
    Green, "From WER and RIL to MER and WIL", Interspeech 2004.
    """
    return _rate(totals, WORDS, ERRORS, f"hits+{ERRORS}"), 1.0


def cpwer(totals: Totals, _: Application) -> Result:
    """Concatenated minimum-permutation word error rate (cpWER) of recordings with several speakers.

    The texts of each speaker are joined in order of time. The speakers of the output are then
    assigned to those of the reference so that the word errors of the recording are fewest. All
    words of a speaker without a partner are deletions or insertions. The errors are divided by the
    number of words of the reference, as in `wer`. Range [0, inf); lower is better. Naive baseline:
    1.0 (an empty output). Undefined if the reference has no words. Watanabe et al. 2020.
    """
    return _rate(totals, SESSIONS, ERRORS, "reference"), 1.0


def bounded_wer(totals: Totals, _: Application) -> Result:
    """Bounded word error rate: `errors / largest possible number of errors`.

    Errors are those of `wer`. The largest possible number of errors of an utterance is the number
    of words of the longer text, reference or output. Range [0, 1]; lower is better. Naive baseline:
    1.0 (an empty output). Undefined if the reference has no words.
    """
    return _rate(totals, WORDS, ERRORS, "longest"), 1.0


def unit_accuracy(totals: Totals, _: Application) -> Result:
    """Share of the words of the reference that the output contains: `hits / words of the
    reference`.

    Hits are the right words; a unit is a word. Inserted words have no effect. Range [0, 1]; higher
    is better. Naive baseline: 0 (an empty output). Undefined if the reference has no words. Ferrer
    et al. 2024, section 3.2.
    """
    return _rate(totals, WORDS, "hits", "reference"), 0.0


def _places_rule(part: str) -> Rule:
    """Errors over units of the reference."""
    return over_reference(part, ERRORS, "insertions")


def _over(trials: str) -> Rule:
    """Errors over words that are at least as many."""
    return replace(error_rule(WORDS, ERRORS, trials, 1.0), size=(WORDS, "reference"))


NO_WORDS, NOTHING = "the references have no words", "neither side has words"
_of = partial(percentage, undefined=NO_WORDS)
_places = _places_rule(WORDS)
MEASURES = (
    _of(wer, WORDS, "Word error rate", PAPER, _places),
    _of(cer, CHARACTERS, "Character error rate", PAPER, _places_rule(CHARACTERS)),
    _of(per, WORDS, "Phone error rate", PAPER, _places),
    _of(
        *(cpwer, SESSIONS, "Word error rate of assigned speakers", "Watanabe et al. 2020"),
        _places_rule(SESSIONS),
        cites=("cpwer",),
    ),
    _of(
        *(mer, WORDS, "Match error rate", "Morris et al. 2004", _over(f"hits+{ERRORS}")),
        undefined=NOTHING,
        cites=("mer",),
    ),
    _of(
        *(bounded_wer, WORDS, "Bounded word error rate"),
        *("definition: errors / largest possible number of errors", _over("longest")),
    ),
    _of(
        *(unit_accuracy, WORDS, "Unit accuracy", PAPER),
        interval=Rule(
            "log1m",
            lambda totals, _: of_sums(totals, WORDS, "substitutions+deletions", "reference", -1),
            edge=True,
            size=(WORDS, "reference"),
            bounds=(0.0, 1.0),
        ),
        direction="higher",
        advice="it hides insertions: additional words cost nothing; read it together with wer",
        rule="insertions-hidden",
    ),
)
