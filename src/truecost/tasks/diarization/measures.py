"""Measures of who spoke when, and of whether anyone did: shares of time.

`speech` holds microseconds of speaker time: `reference` (sum of T Nref over the scored stretches,
of T seconds each), `correct`, `missed` (sum of T max(0, Nref - Nsys)), `false_alarm` (sum of
T max(0, Nsys - Nref)) and `confusion` (the rest: sum of T min(Nref, Nsys), less what is correct).
`speakers` holds the number of reference speakers and the sum of their Jaccard `errors`. `activity`
holds microseconds of `speech`, of `nonspeech`, and of those what is `missed` and `false_alarm`. The
naive baseline says nothing.
"""

import math
from functools import partial

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.item_rules import error_rule, over_reference, percentage, ratio
from truecost.core.measure import NONE, Result, Rule

SPEECH, SPEAKERS, ACTIVITY = "speech", "speakers", "activity"
ERRORS = "missed+false_alarm+confusion"


def der(totals: Totals, _: Application) -> Result:
    """Diarization error rate: (missed + false alarm + confusion) / speaker time of the reference.

    sum of T (max(Nref, Nsys) - Ncorrect) / sum of T Nref. Range [0, inf), lower is better; the
    naive baseline is an empty output and gets 1. Undefined without scored reference speech.
    Prokopalo et al. 2020, appendix B (Eq. 4-5).
    """
    return ratio(totals, SPEECH, ERRORS, "reference"), 1.0


def missed(totals: Totals, _: Application) -> Result:
    """Missed speaker time / speaker time of the reference; a part of `der`.

    sum of T max(0, Nref - Nsys) / sum of T Nref. Range [0, 1], lower is better; no naive baseline.
    Undefined without scored reference speech. Prokopalo et al. 2020, appendix B (Eq. 4-5).
    """
    return ratio(totals, SPEECH, "missed", "reference"), NONE


def false_alarm(totals: Totals, _: Application) -> Result:
    """Surplus speaker time of the output / speaker time of the reference; a part of `der`.

    sum of T max(0, Nsys - Nref) / sum of T Nref. Range [0, inf), lower is better; no naive
    baseline. Undefined without scored reference speech. Prokopalo et al. 2020, appendix B (Eq.
    4-5).
    """
    return ratio(totals, SPEECH, "false_alarm", "reference"), NONE


def confusion(totals: Totals, _: Application) -> Result:
    """Speaker time of a wrong speaker / speaker time of the reference; a part of `der`.

    sum of T (min(Nref, Nsys) - Ncorrect) / sum of T Nref. Range [0, 1], lower is better; no naive
    baseline. Undefined without scored reference speech. Prokopalo et al. 2020, appendix B (Eq.
    4-5).
    """
    return ratio(totals, SPEECH, "confusion", "reference"), NONE


def jer(totals: Totals, _: Application) -> Result:
    """Jaccard error rate: mean over reference speakers of 1 - intersection / union.

    The speakers of each recording are mapped one to one so that the rate is lowest; a speaker
    without a partner counts 1. All speakers of all recordings have the same weight. Range [0, 1],
    lower is better; the naive baseline is an empty output and gets 1. Undefined without a reference
    speaker. Ryant et al. 2019 (second DIHARD challenge). pyannote.metrics maps by common time
    instead, so its rate is never lower.
    """
    return ratio(totals, SPEAKERS, "errors", "speakers"), 1.0


def speech_miss(totals: Totals, _: Application) -> Result:
    """Share of speech that is not detected: missed / speech, all speakers as one.

    Range [0, 1], lower is better; no naive baseline. Undefined without scored speech. Ferrer et al.
    2024, 3.7, for the tolerance at boundaries and the merging of short gaps.
    """
    return ratio(totals, ACTIVITY, "missed", "speech"), NONE


def speech_fa(totals: Totals, _: Application) -> Result:
    """Share of time without speech that is detected as speech: false alarm / nonspeech.

    Range [0, 1], lower is better; no naive baseline. Undefined without scored nonspeech. Ferrer et
    al. 2024, 3.7.
    """
    return ratio(totals, ACTIVITY, "false_alarm", "nonspeech"), NONE


def speech_error(totals: Totals, _: Application) -> Result:
    """Detection error rate: (missed + false alarm) / speech, all speakers as one.

    Range [0, inf), lower is better; the naive baseline is an empty output and gets 1. Undefined
    without scored speech. Ferrer et al. 2024, 3.7.
    """
    return ratio(totals, ACTIVITY, "missed+false_alarm", "speech"), 1.0


def _time_rule(errors: str, most: float = math.inf) -> Rule:
    """Errors over speaker time of the reference. However short a moment is, the correlation assumed
    within recordings leaves each 1 / icc moments.
    """
    return over_reference("speech", errors, "false_alarm", fewest=20, bounds=(0.0, most))


_ERROR, _VOICE = "paper 004, Eq. 4-5", "paper 003, 3.7"
_of = partial(percentage, undefined="the reference has no speech in the scored time")
MEASURES = (
    _of(der, SPEECH, "Diarization error rate", _ERROR, _time_rule(ERRORS)),
    _of(missed, SPEECH, "Missed speech", _ERROR, _time_rule("missed", 1.0)),
    _of(false_alarm, SPEECH, "False alarm", _ERROR, _time_rule("false_alarm")),
    _of(confusion, SPEECH, "Speaker confusion", _ERROR, _time_rule("confusion", 1.0)),
    _of(
        *(jer, SPEAKERS, "Jaccard error rate", "Ryant et al. 2019"),
        error_rule(SPEAKERS, "errors", "speakers", 1.0),
        advice="every speaker has the same weight, however little is said; speakers that are only "
        "in the output cost nothing: read it together with der",
        cites=("jer",),
    ),
    _of(
        *(speech_miss, ACTIVITY, "Missed speech (voice activity)", _VOICE),
        error_rule(ACTIVITY, "missed", "speech", 1.0),
    ),
    _of(
        *(speech_fa, ACTIVITY, "False alarm (voice activity)", _VOICE),
        error_rule(ACTIVITY, "false_alarm", "nonspeech", 1.0),
        undefined="there is no time without speech in the scored time",
    ),
    _of(
        *(speech_error, ACTIVITY, "Detection error rate (voice activity)", _VOICE),
        error_rule(ACTIVITY, "missed+false_alarm", "speech"),
    ),
)
