"""Speaker diarization and voice activity detection: shares of time.

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
    """Diarization error rate: missed speech, false alarms and speaker confusion, divided by the
    speaker time of the reference: `sum T (max(Nref, Nsys) - Ncorrect) / sum T Nref`.

    In each recording, the speakers of the output are assigned one to one to those of the reference
    so that `der` is lowest. Range [0, inf); lower is better. Naive baseline: 1 (an empty output).
    Undefined without speech in the scored part of the reference. Prokopalo et al. 2020, appendix B
    (Eq. 4-5).
    """
    return ratio(totals, SPEECH, ERRORS, "reference"), 1.0


def missed(totals: Totals, _: Application) -> Result:
    """Missed speaker time, divided by the speaker time of the reference: `sum T max(0, Nref - Nsys)
    / sum T Nref`.

    This is the first part of `der`. Range [0, 1]; lower is better. No naive baseline. Undefined
    without speech in the scored part of the reference. Prokopalo et al. 2020, appendix B (Eq. 4-5).
    """
    return ratio(totals, SPEECH, "missed", "reference"), NONE


def false_alarm(totals: Totals, _: Application) -> Result:
    """Speaker time of the output beyond that of the reference, divided by the speaker time of the
    reference: `sum T max(0, Nsys - Nref) / sum T Nref`.

    This is the second part of `der`. Range [0, inf); lower is better. No naive baseline. Undefined
    without speech in the scored part of the reference. Prokopalo et al. 2020, appendix B (Eq. 4-5).
    """
    return ratio(totals, SPEECH, "false_alarm", "reference"), NONE


def confusion(totals: Totals, _: Application) -> Result:
    """Speaker time assigned to a wrong speaker, divided by the speaker time of the reference: `sum
    T (min(Nref, Nsys) - Ncorrect) / sum T Nref`.

    This is the third part of `der`; the speakers are assigned as for `der`. Range [0, 1]; lower is
    better. No naive baseline. Undefined without speech in the scored part of the reference.
    Prokopalo et al. 2020, appendix B (Eq. 4-5).
    """
    return ratio(totals, SPEECH, "confusion", "reference"), NONE


def jer(totals: Totals, _: Application) -> Result:
    """Jaccard error rate: mean over the speakers of the reference of `1 - intersection / union`.

    Intersection and union are those of the time of the speaker in the reference and the time of the
    assigned speaker in the output. In each recording, the speakers of the output are assigned one
    to one so that this mean is lowest; a speaker without a partner counts 1. All speakers of all
    recordings have equal weight. pyannote.metrics assigns speakers by their common time, so its
    value is the same or higher. Range [0, 1]; lower is better. Naive baseline: 1 (an empty output).
    Undefined if the reference has no speaker. Ryant et al. 2019 (second DIHARD challenge).
    """
    return ratio(totals, SPEAKERS, "errors", "speakers"), 1.0


def speech_miss(totals: Totals, _: Application) -> Result:
    """Share of the speaking time that the system misses: `missed speech / speech of the reference`.

    Time in which several speakers speak counts once. Range [0, 1]; lower is better. No naive
    baseline. Undefined without speech in the scored part of the reference. Ferrer et al. 2024,
    section 3.7.
    """
    return ratio(totals, ACTIVITY, "missed", "speech"), NONE


def speech_fa(totals: Totals, _: Application) -> Result:
    """Share of the time without speech that is detected as speech: `false alarms / time without
    speech in the reference`.

    Range [0, 1]; lower is better. No naive baseline. Undefined if the scored part of the reference
    contains only speech. Ferrer et al. 2024, section 3.7.
    """
    return ratio(totals, ACTIVITY, "false_alarm", "nonspeech"), NONE


def speech_error(totals: Totals, _: Application) -> Result:
    """Detection error rate: `(missed speech + false alarms) / speech of the reference`.

    Time in which several speakers speak counts once. Range [0, inf); lower is better. Naive
    baseline: 1 (an empty output). Undefined without speech in the scored part of the reference.
    Ferrer et al. 2024, section 3.7.
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
        advice="all speakers have equal weight, even those who speak little; speakers that are "
        "only in the output cost nothing: read it together with der",
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
