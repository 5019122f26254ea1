"""Measures of who spoke when, and of whether anyone did: shares of time.

`speech` holds microseconds of speaker time: `reference` (sum of T Nref over the scored stretches,
of T seconds each), `correct`, `missed` (sum of T max(0, Nref - Nsys)), `false_alarm` (sum of
T max(0, Nsys - Nref)) and `confusion` (the rest: sum of T min(Nref, Nsys), less what is correct).
`speakers` holds the number of reference speakers and the sum of their Jaccard `errors`. `activity`
holds microseconds of `speech`, of `nonspeech`, and of those what is `missed` and `false_alarm`. The
naive baseline says nothing.
"""

import math

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.item_rules import error_rule, of_sums
from truecost.core.measure import NONE, Floats, Measure, Rate, Result, Rule, share

SPEECH, SPEAKERS, ACTIVITY = ("speech",), ("speakers",), ("activity",)


def _of_reference(totals: Totals, error: str) -> Floats:
    """One kind of error over the speaker time of the reference."""
    return share(totals.sums("speech", error), totals.sums("speech", "reference"))


def der(totals: Totals, application: Application) -> Result:
    """Diarization error rate: (missed + false alarm + confusion) / speaker time of the reference.

    sum of T (max(Nref, Nsys) - Ncorrect) / sum of T Nref. Range [0, inf), lower is better; the
    reference says nothing and gets 1. Undefined without scored reference speech. Paper 004,
    appendix B (Eq. 4-5).
    """
    del application
    errors = sum(totals.sums("speech", kind) for kind in ("missed", "false_alarm", "confusion"))
    return share(errors, totals.sums("speech", "reference")), 1.0


def missed(totals: Totals, application: Application) -> Result:
    """Missed speaker time / speaker time of the reference; a part of `der`.

    sum of T max(0, Nref - Nsys) / sum of T Nref. Range [0, 1], lower is better; no reference.
    Undefined without scored reference speech. Paper 004, appendix B (Eq. 4-5).
    """
    del application
    return _of_reference(totals, "missed"), NONE


def false_alarm(totals: Totals, application: Application) -> Result:
    """Speaker time that is too much / speaker time of the reference; a part of `der`.

    sum of T max(0, Nsys - Nref) / sum of T Nref. Range [0, inf), lower is better; no reference.
    Undefined without scored reference speech. Paper 004, appendix B (Eq. 4-5).
    """
    del application
    return _of_reference(totals, "false_alarm"), NONE


def confusion(totals: Totals, application: Application) -> Result:
    """Speaker time that was given to another speaker / speaker time of the reference; in `der`.

    sum of T (min(Nref, Nsys) - Ncorrect) / sum of T Nref. Range [0, 1], lower is better; no
    reference. Undefined without scored reference speech. Paper 004, appendix B (Eq. 4-5).
    """
    del application
    return _of_reference(totals, "confusion"), NONE


def jer(totals: Totals, application: Application) -> Result:
    """Jaccard error rate: mean over reference speakers of 1 - intersection / union.

    With the one-to-one mapping of speakers of each recording that makes it least; a speaker without
    a partner counts 1. All speakers of all recordings have the same weight. Range [0, 1], lower is
    better; the reference says nothing and gets 1. Undefined without a reference speaker. Ryant et
    al. 2019 (second DIHARD challenge); pyannote.metrics maps by the time in common instead, which
    never gives less.
    """
    del application
    return share(totals.sums("speakers", "errors"), totals.sums("speakers", "speakers")), 1.0


def speech_miss(totals: Totals, application: Application) -> Result:
    """Share of speech that is not detected: missed / speech, all speakers as one.

    Range [0, 1], lower is better; no reference. Undefined without scored speech. Paper 003, 3.7,
    for the tolerance at boundaries and the merging of short gaps.
    """
    del application
    return share(totals.sums("activity", "missed"), totals.sums("activity", "speech")), NONE


def speech_fa(totals: Totals, application: Application) -> Result:
    """Share of time without speech that is detected as speech: false alarm / nonspeech.

    Range [0, 1], lower is better; no reference. Undefined without scored nonspeech. Paper 003, 3.7.
    """
    del application
    return share(totals.sums("activity", "false_alarm"), totals.sums("activity", "nonspeech")), NONE


def speech_error(totals: Totals, application: Application) -> Result:
    """Detection error rate: (missed + false alarm) / speech, all speakers as one.

    Range [0, inf), lower is better; the reference says nothing and gets 1. Undefined without
    scored speech. Paper 003, 3.7.
    """
    del application
    errors = totals.sums("activity", "missed") + totals.sums("activity", "false_alarm")
    return share(errors, totals.sums("activity", "speech")), 1.0


def _of_time(errors: str, most: float = math.inf) -> Rule:
    """Errors over speaker time of the reference. Without errors a rate of time: that of the
    reference and of what is too much, so that no recording has more errors than time. However short
    a moment is, the correlation assumed within recordings leaves each 1 / icc moments.
    """

    def rates(totals: Totals, application: Application) -> list[Rate]:
        del application
        time, more = (float(totals.sums("speech", n)[0]) for n in ("reference", "false_alarm"))
        both = (time + more) / time if time > 0 else 1.0
        return of_sums(totals, "speech", errors, "reference+false_alarm", both)

    return Rule(rates=rates, edge=True, fewest=20, size=("speech", "reference"), bounds=(0.0, most))


_ERROR = "paper 004, Eq. 4-5"

NO_SPEECH = "the reference has no speech in what is scored"
NO_SILENCE = "there is no time without speech in what is scored"
MEASURES = (
    Measure(
        "der",
        der,
        SPEECH,
        "Diarization error rate",
        "lower",
        _ERROR,
        uses=(),
        undefined=NO_SPEECH,
        shown_in="percent",
        interval=_of_time("missed+false_alarm+confusion"),
    ),
    Measure(
        "missed",
        missed,
        SPEECH,
        "Missed speech",
        "lower",
        _ERROR,
        uses=(),
        undefined=NO_SPEECH,
        shown_in="percent",
        interval=_of_time("missed", 1.0),
    ),
    Measure(
        "false_alarm",
        false_alarm,
        SPEECH,
        "False alarm",
        "lower",
        _ERROR,
        uses=(),
        undefined=NO_SPEECH,
        shown_in="percent",
        interval=_of_time("false_alarm"),
    ),
    Measure(
        "confusion",
        confusion,
        SPEECH,
        "Speaker confusion",
        "lower",
        _ERROR,
        uses=(),
        undefined=NO_SPEECH,
        shown_in="percent",
        interval=_of_time("confusion", 1.0),
    ),
    Measure(
        "jer",
        jer,
        SPEAKERS,
        "Jaccard error rate",
        "lower",
        "Ryant et al. 2019",
        advice="every speaker weighs the same, however little is said; speakers that only the "
        "output has cost nothing: read it beside der",
        cites=("jer",),
        uses=(),
        undefined=NO_SPEECH,
        shown_in="percent",
        interval=error_rule("speakers", "errors", "speakers", 1.0),
    ),
    Measure(
        "speech_miss",
        speech_miss,
        ACTIVITY,
        "Missed speech (voice activity)",
        "lower",
        "paper 003, 3.7",
        uses=(),
        undefined=NO_SPEECH,
        shown_in="percent",
        interval=error_rule("activity", "missed", "speech", 1.0),
    ),
    Measure(
        "speech_fa",
        speech_fa,
        ACTIVITY,
        "False alarm (voice activity)",
        "lower",
        "paper 003, 3.7",
        uses=(),
        undefined=NO_SILENCE,
        shown_in="percent",
        interval=error_rule("activity", "false_alarm", "nonspeech", 1.0),
    ),
    Measure(
        "speech_error",
        speech_error,
        ACTIVITY,
        "Detection error rate (voice activity)",
        "lower",
        "paper 003, 3.7",
        uses=(),
        undefined=NO_SPEECH,
        shown_in="percent",
        interval=error_rule("activity", "missed+false_alarm", "speech"),
    ),
)
