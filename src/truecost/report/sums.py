"""The sums of items in words: how many errors out of how much, and readable times.

A row of a measure of items has among its counts the sums of the part that the measure reads: words,
n-grams, speaker time in seconds. Here they become phrases, for the whole, a subset or one item.
"""

from collections.abc import Callable, Mapping, Sequence

from truecost.core.digits import amount, counted, figure
from truecost.core.measure import Measure

Counts = Mapping[str, float]
Said = Callable[[Counts, str], str]  # of sums, and the noun of what is counted
EDITS = ("substitutions", "deletions", "insertions")
TIMES = ("missed", "false_alarm", "confusion")
ORDERS = range(1, 5)  # of the n-grams of BLEU
SECONDS = {"speech": 1e-6, "activity": 1e-6}  # parts that items hold in microseconds
NOUNS = {"words": "word", "characters": "character", "cp_words": "word"}


def clock(seconds: float) -> str:
    """A time: `12.34 s`, from a minute on `h:mm:ss`.

    Examples
    --------
    >>> from truecost.report.sums import clock
    >>> clock(12.345), clock(59.996), clock(33952.9)
    ('12.35 s', '0:01:00', '9:25:53')
    """
    if round(seconds, 2) < 60:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + " s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def error_words(measure: Measure, counts: Counts) -> str:
    """Errors of each kind and out of how much; empty where the sums do not tell.

    `counts`: sums of the part that it reads, times in seconds.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.report.sums import error_words
    >>> counts = {"substitutions": 12, "deletions": 1, "insertions": 0, "reference": 200}
    >>> error_words(tc.find("wer"), counts)
    '12 substitutions, 1 deletion, 0 insertions in 200 words'
    """
    return _phrase(_ERRORS, measure, counts, _every_sum)


def worst_words(measure: Measure, counts: Counts) -> str:
    """The errors that make an item one of the worst, the sum before its kinds; empty where not
    known.

    For `wer` `13 errors: 12 substitutions, 1 deletion, 0 insertions in 200 words`.
    """
    return _phrase(_WORST, measure, counts, _every_sum) or error_words(measure, counts)


def size_words(measure: Measure, counts: Counts) -> str:
    """The amount of reference: `200 words`, `9:25:53 of speaker time`; empty when not known."""
    return _phrase(
        _SIZES, measure, counts, lambda n, _: f"{amount(n['reference'])} in the reference"
    )


def sizes_of(measure: Measure) -> tuple[str, ...]:
    """The sums that add up to how much reference there is, as `part.statistic`."""
    part = _part(measure)
    return tuple(f"{part}.{name}" for name in _AMOUNTS.get(part, ("reference",)))


def _part(measure: Measure) -> str:
    return measure.parts[0] if measure.parts else ""


def _phrase(table: Mapping[str, Said], measure: Measure, counts: Counts, otherwise: Said) -> str:
    part = _part(measure)
    noun = "phone" if measure.name == "per" else NOUNS.get(part, part)
    try:
        return table.get(part, otherwise)(counts, noun)
    except KeyError:  # a result of another version, with other sums
        return ""


def _every_sum(counts: Counts, _: str) -> str:
    """Every sum of a part of other distributions, out of how much reference there is."""
    others = (f"{amount(n)} {name.replace('_', ' ')}" for name, n in counts.items())
    said = ", ".join(text for text in others if not text.endswith(" reference"))
    return f"{said}; {amount(counts['reference'])} in the reference"


def _edits(counts: Counts, noun: str) -> str:
    errors = ", ".join(counted(counts[name], name.removesuffix("s")) for name in EDITS)
    return f"{errors} in {counted(counts['reference'], noun)}"


def _speech(counts: Counts, _: str) -> str:
    errors = ", ".join(f"{clock(counts[name])} {name.replace('_', ' ')}" for name in TIMES)
    return f"{errors} in {clock(counts['reference'])} of speaker time"


def _ngrams(counts: Counts, _: str) -> str:
    shares = ", ".join(figure(share, "%") for share in precisions(counts))
    tokens = f"{counted(counts['hypothesis'], 'token')} against {amount(counts['reference'])}"
    return f"{shares} of the 1- to 4-grams match, {tokens} of the references"


def precisions(counts: Counts) -> list[float]:
    """The share of the n-grams of an output that a reference has, by order from 1; 0 of none."""
    return [
        counts[f"matches{n}"] / counts[f"totals{n}"] if counts[f"totals{n}"] else 0.0
        for n in ORDERS
    ]


def _speakers(counts: Counts, _: str) -> str:
    speakers = counted(counts["speakers"], "speaker")
    return f"Jaccard errors of {speakers} add up to {figure(counts['errors'])}"


def _activity(counts: Counts, _: str) -> str:
    return (
        f"{clock(counts['missed'])} of {clock(counts['speech'])} of speech missed, "
        f"{clock(counts['false_alarm'])} of {clock(counts['nonspeech'])} without speech taken for "
        f"it"
    )


def _words_edited(counts: Counts, _: str) -> str:
    return f"{counted(counts['edits'], 'edit')} in {counted(counts['reference'], 'word')}"


def _summed(kinds: Sequence[str], said: Said) -> Said:
    """The errors added up, in number or in time, before what is said of each kind."""

    def both(counts: Counts, noun: str) -> str:
        total = sum(counts[name] for name in kinds)
        first = counted(total, "error") if kinds is EDITS else f"{clock(total)} in error"
        return f"{first}: {said(counts, noun)}"

    return both


def _count(statistic: str, noun: str = "", more: str = "") -> Said:
    """The number of units of a statistic."""
    return lambda counts, own: f"{counted(counts[statistic], noun or own)}{more}"


CHRF = ("chrf", "chrf_words")
_ERRORS: Mapping[str, Said] = {
    "words": _edits,
    "cp_words": _edits,
    "characters": _edits,
    "speech": _speech,
    "ngrams": _ngrams,
    "speakers": _speakers,
    "activity": _activity,
    "edits": _words_edited,
}
_WORST: Mapping[str, Said] = {
    **dict.fromkeys(NOUNS, _summed(EDITS, _edits)),
    "ngrams": _count("unmatched", "word", " without a match"),
    **dict.fromkeys(CHRF, _count("unmatched", "character", " without a match")),
    "speech": _summed(TIMES, _speech),
    "activity": _summed(TIMES[:2], _activity),
}
_SIZES: Mapping[str, Said] = {
    **dict.fromkeys(NOUNS, _count("reference")),
    "speech": lambda counts, _: f"{clock(counts['reference'])} of speaker time",
    "ngrams": _count("reference", "token"),
    **dict.fromkeys(CHRF, _count("reference1", "character")),
    "speakers": _count("speakers", "speaker"),
    "activity": lambda counts, _: f"{clock(counts['speech'])} of speech",
    "edits": _count("reference", "word"),
}
_AMOUNTS: Mapping[str, tuple[str, ...]] = {  # of others `reference`
    **dict.fromkeys(CHRF, ("reference1",)),
    "speakers": ("speakers",),
    "activity": ("speech", "nonspeech"),
}
