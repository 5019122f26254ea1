"""What the sums of items say: how many errors out of how much, and times a reader can read.

A row of a measure of items has among its counts the sums of the part that the measure reads: words,
n-grams, speaker time in seconds. Here they become phrases, for the whole, a subset or one item.
"""

from collections.abc import Callable, Mapping, Sequence

from truecost.core.digits import amount, counted, figure
from truecost.core.measure import Measure

Counts = Mapping[str, float]
EDITS = ("substitutions", "deletions", "insertions")
TIMES = ("missed", "false_alarm", "confusion")
ORDERS = range(1, 5)  # of the n-grams of BLEU
SECONDS = {"speech": 1e-6, "activity": 1e-6}  # parts that items hold in microseconds
NOUNS = {"words": "word", "characters": "character"}


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


def errors_said(measure: Measure, counts: Counts) -> str:
    """Errors of each kind and out of how much; empty where the sums do not tell.

    Parameters
    ----------
    counts : mapping of str to float
        Sums of the part that it reads, times in seconds.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.report.sums import errors_said
    >>> counts = {"substitutions": 12, "deletions": 1, "insertions": 0, "reference": 200}
    >>> errors_said(tc.find("wer"), counts)
    '12 substitutions, 1 deletion, 0 insertions in 200 words'
    """
    return _say(_ERRORS, measure, counts, _any)


def worst_said(measure: Measure, counts: Counts) -> str:
    """What makes an item one of the worst, the sum before its kinds; empty where it is not known.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.report.sums import worst_said
    >>> counts = {"substitutions": 12, "deletions": 1, "insertions": 0, "reference": 200}
    >>> worst_said(tc.find("wer"), counts)
    '13 errors: 12 substitutions, 1 deletion, 0 insertions in 200 words'
    """
    return _say(_WORST, measure, counts, _any) or errors_said(measure, counts)


def size_said(measure: Measure, counts: Counts) -> str:
    """How much reference there is: `200 words`, `9:25:53 of speaker time`; empty when not known."""
    return _say(_SIZES, measure, counts, _of_reference)


def sizes_of(measure: Measure) -> tuple[str, ...]:
    """The sums that add up to how much reference there is, as `part.statistic`."""
    part = measure.parts[0] if measure.parts else ""
    return tuple(f"{part}.{name}" for name in _AMOUNTS.get(part, ("reference",)))


def _say(
    table: "Mapping[str, Callable[[Counts, str], str]]",
    measure: Measure,
    counts: Counts,
    otherwise: "Callable[[Counts, str], str]",
) -> str:
    part = measure.parts[0] if measure.parts else ""
    noun = "phone" if measure.name == "per" else NOUNS.get(part, part)
    try:
        return table.get(part, otherwise)(counts, noun)
    except KeyError:  # a result of another version, with other sums
        return ""


def _any(counts: Counts, noun: str) -> str:
    """Every sum of a part of other distributions, out of how much reference there is."""
    del noun
    others = (f"{amount(n)} {name.replace('_', ' ')}" for name, n in counts.items())
    said = ", ".join(text for text in others if not text.endswith(" reference"))
    return f"{said}; {amount(counts['reference'])} in the reference"


def _of_reference(counts: Counts, noun: str) -> str:
    del noun
    return f"{amount(counts['reference'])} in the reference"


def _errors(counts: Counts) -> str:
    return counted(sum(counts[name] for name in EDITS), "error")


def _in_error(counts: Counts, kinds: Sequence[str]) -> str:
    return f"{clock(sum(counts[name] for name in kinds))} in error"


def _edits(counts: Counts, noun: str) -> str:
    errors = ", ".join(counted(counts[name], name.removesuffix("s")) for name in EDITS)
    return f"{errors} in {counted(counts['reference'], noun)}"


def _speech(counts: Counts, noun: str) -> str:
    del noun
    errors = ", ".join(f"{clock(counts[name])} {_TITLES[name]}" for name in TIMES)
    return f"{errors} in {clock(counts['reference'])} of speaker time"


_TITLES = {"missed": "missed", "false_alarm": "false alarm", "confusion": "confusion"}


def _ngrams(counts: Counts, noun: str) -> str:
    del noun
    shares = ", ".join(figure(share, "%") for share in precisions(counts))
    tokens = f"{counted(counts['hypothesis'], 'token')} against {amount(counts['reference'])}"
    return f"{shares} of the 1- to 4-grams match, {tokens} of the references"


def precisions(counts: Counts) -> list[float]:
    """The share of the n-grams of an output that a reference has, by order from 1; 0 of none."""
    return [
        counts[f"matches{n}"] / counts[f"totals{n}"] if counts[f"totals{n}"] else 0.0
        for n in ORDERS
    ]


def _speakers(counts: Counts, noun: str) -> str:
    del noun
    speakers = counted(counts["speakers"], "speaker")
    return f"Jaccard errors of {speakers} add up to {figure(counts['errors'])}"


def _activity(counts: Counts, noun: str) -> str:
    del noun
    return (
        f"{clock(counts['missed'])} of {clock(counts['speech'])} of speech missed, "
        f"{clock(counts['false_alarm'])} of {clock(counts['nonspeech'])} without speech taken for "
        f"it"
    )


def _words_edited(counts: Counts, noun: str) -> str:
    del noun
    return f"{counted(counts['edits'], 'edit')} in {counted(counts['reference'], 'word')}"


_ERRORS: Mapping[str, Callable[[Counts, str], str]] = {
    "words": _edits,
    "characters": _edits,
    "speech": _speech,
    "ngrams": _ngrams,
    "speakers": _speakers,
    "activity": _activity,
    "edits": _words_edited,
}
_WORST: Mapping[str, Callable[[Counts, str], str]] = {
    "words": lambda counts, noun: f"{_errors(counts)}: {_edits(counts, noun)}",
    "characters": lambda counts, noun: f"{_errors(counts)}: {_edits(counts, noun)}",
    "ngrams": lambda counts, _: f"{counted(counts['unmatched'], 'word')} without a match",
    "chrf": lambda counts, _: f"{counted(counts['unmatched'], 'character')} without a match",
    "speech": lambda counts, noun: f"{_in_error(counts, TIMES)}: {_speech(counts, noun)}",
    "activity": lambda counts, noun: f"{_in_error(counts, TIMES[:2])}: {_activity(counts, noun)}",
}
_SIZES: Mapping[str, Callable[[Counts, str], str]] = {
    "words": lambda counts, noun: counted(counts["reference"], noun),
    "characters": lambda counts, noun: counted(counts["reference"], noun),
    "speech": lambda counts, _: f"{clock(counts['reference'])} of speaker time",
    "ngrams": lambda counts, _: counted(counts["reference"], "token"),
    "chrf": lambda counts, _: counted(counts["reference1"], "character"),
    "speakers": lambda counts, _: counted(counts["speakers"], "speaker"),
    "activity": lambda counts, _: f"{clock(counts['speech'])} of speech",
    "edits": lambda counts, _: counted(counts["reference"], "word"),
}
_AMOUNTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("words", "characters", "speech", "ngrams", "edits"), ("reference",)),
    "chrf": ("reference1",),
    "speakers": ("speakers",),
    "activity": ("speech", "nonspeech"),
}
