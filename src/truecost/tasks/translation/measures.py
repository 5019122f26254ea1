"""Translation: BLEU, chrF, chrF++ and TER from the sums of statistics of sentences.

`truecost.outputs.aligning` and `character_ngrams` say what `ngrams`, `edits`, `chrf` and
`chrf_words` hold. The values are those of sacrebleu for the same sums.
"""

import math
from functools import partial

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.item_rules import error_rule, ratio
from truecost.core.measure import Array, Floats, Measure, Result, Rule
from truecost.outputs.aligning import ORDER, share_or_zero
from truecost.outputs.translation import CHARACTER_ORDER, WORD_ORDER, character_f

SMOOTHING: dict[str, float | None] = {"exp": None, "none": None, "floor": 0.1, "add-k": 1.0}
Smoothing = tuple[str, float]


def bleu(
    totals: Totals, _: Application, smoothing: Smoothing
) -> tuple[Array, Array | float, dict[str, Array]]:
    """BLEU: `100 BP (p1 p2 p3 p4)^(1/4)`.

    p_n is the share of the n-grams of the output (n successive words) that match a reference; an
    n-gram matches at most as often as it occurs in any one reference. BP, the brevity penalty, is
    `min(1, exp(1 - length of the reference / length of the output))`, with the reference nearest in
    length; `result.json` also contains it, as `brevity_penalty`. The parameter is the smoothing of
    a p_n without matches (Chen and Cherry 2014). `exp` (default, as in mteval-v13a): `1 / (2^k
    total)` for the k-th such p_n, where total is the number of n-grams of the output. `floor=F`: `F
    / total` (default F = 0.1). `add-k=K`: K is added to the matches and totals of n = 2 to 4
    (default K = 1). `none`: no smoothing, so BLEU is 0 if a p_n has no matches. With every
    smoothing, BLEU is 0 if no word matches; except with `add-k`, it is also 0 if the output has no
    n-gram of four words. Range [0, 100]; higher is better. Naive baseline: 0 (an empty output).
    Undefined if the references have no words. Papineni et al. 2002; Prokopalo et al. 2020, appendix
    A.
    """
    matches, ngrams = (_by_order(totals, "ngrams", name, ORDER) for name in ("matches", "totals"))
    reference = totals.sums("ngrams", "reference")
    penalty = _brevity_penalty(totals.sums("ngrams", "hypothesis"), reference)
    precisions = _smoothed(matches, ngrams, *smoothing)
    score = 100 * penalty * np.exp(np.log(precisions).mean(axis=-1))
    score = np.where(matches.any(axis=-1), score, 0.0)
    return np.where(reference > 0, score, np.nan), 0.0, {"brevity_penalty": penalty}


def _by_order(totals: Totals, part: str, name: str, order: int) -> Floats:
    """Sums of a statistic by order of the n-grams, in the last axis."""
    sums = [totals.sums(part, f"{name}{n}") for n in range(1, order + 1)]
    return np.stack(sums, axis=-1).astype(np.float64)


def _brevity_penalty(hypothesis: Array, reference: Array) -> Floats:
    """Factor for an output that is shorter than its reference; 0 when it is empty."""
    ratio = np.maximum(share_or_zero(reference, hypothesis), 1.0)
    return np.where((hypothesis > 0) | (reference == 0), np.exp(1 - ratio), 0.0)


def _smoothed(matches: Floats, ngrams: Floats, method: str, value: float) -> Floats:
    """Precision of each order, 0 where there are no n-grams."""
    if method == "add-k":
        added = np.where(np.arange(matches.shape[-1]) > 0, value, 0.0)
        matches, ngrams = matches + added, ngrams + added
    empty = matches == 0
    if method == "exp":
        matches = np.where(empty, 0.5 ** np.cumsum(empty, axis=-1), matches)
    if method == "floor":
        matches = np.where(empty, value, matches)
    return share_or_zero(matches, ngrams)


def smoothing_of(text: str) -> Smoothing:
    """Method and value of a smoothing: `exp`, `none`, `floor`, `floor=0.1`, `add-k`, `add-k=1`; the
    value is 0 for the methods that take none.
    """
    method, _, said = text.partition("=")
    if method not in SMOOTHING:
        raise ValueError(f"choose one of {', '.join(SMOOTHING)}")
    default = SMOOTHING[method]
    if default is None:
        if "=" in text:
            raise ValueError(f"{method} takes no value: write {method!r} alone")
        return method, 0.0
    try:
        value = float(said) if "=" in text else default
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{method}={said} needs a number above 0, such as {method}={default:g}")
    return method, value


def chrf(totals: Totals, _: Application) -> Result:
    """chrF2, the F score of character n-grams with recall weighted double: `100 (1 + 4) P R / (4 P
    + R)`.

    P is the mean, over n from 1 to 6, of the share of the n-grams of the output that match the
    reference. R is the mean, over n, of the share of the n-grams of the reference that match the
    output. Spaces are removed. An n without n-grams in the output or in the reference is excluded.
    The value is 0 without matches. Range [0, 100]; higher is better. Naive baseline: 0 (an empty
    output). Undefined if the references have no characters. Popović 2015, 2016.
    """
    return _character_f(totals, "chrf", CHARACTER_ORDER)


def chrf_words(totals: Totals, _: Application) -> Result:
    """chrF++: chrF2 whose precision P and recall R also include n-grams of one and two words.

    Words are separated by spaces. A punctuation mark at the end of a word (if there is none,
    at its start) is a separate word. Range [0, 100]; higher is better. Naive baseline: 0 (an empty
    output). Undefined if the references have no characters. Popović 2017.
    """
    return _character_f(totals, "chrf_words", CHARACTER_ORDER + WORD_ORDER)


def _character_f(totals: Totals, part: str, orders: int) -> Result:
    """chrF2 of the sums of a part, whose orders of words come last."""
    matches, hypothesis, reference = (
        _by_order(totals, part, name, orders) for name in ("matches", "hypothesis", "reference")
    )
    score = character_f(matches, hypothesis, reference)
    return np.where(reference[..., 0] > 0, score, np.nan), 0.0


def ter(totals: Totals, _: Application) -> Result:
    """Translation edit rate: `edits / words of the reference`.

    The edits are insertions, deletions, substitutions, and shifts of successive words. With several
    references: the fewest edits to any reference, divided by the mean number of words of the
    references. Range [0, inf); lower is better. Naive baseline: 1 (an empty output); with several
    references, the number of words of the shortest reference, divided by the mean number of words
    of the references. Undefined if the references have no words. Snover et al. 2006.
    """
    edits, shortest = (ratio(totals, "edits", n, "reference") for n in ("edits", "shortest"))
    return edits, shortest


_score = partial(Measure, uses=(), undefined="the references have no words")
MEASURES = (
    _score(
        *("bleu", bleu, ("ngrams",), "BLEU", "higher"),
        "Papineni et al. 2002; Prokopalo et al. 2020, appendix A",
        parameter="exp",
        parse=smoothing_of,
        cites=("bleu", "sacrebleu", "004"),
        interval=Rule("logit100", size=("ngrams", "reference")),
    ),
    _score(
        *("chrf", chrf, ("chrf",), "chrF2", "higher", "Popović 2015"),
        cites=("chrf", "sacrebleu"),
        interval=Rule("logit100", size=("chrf", "reference1")),
    ),
    _score(
        *("chrf++", chrf_words, ("chrf_words",), "chrF++", "higher", "Popović 2017"),
        cites=("chrf++", "sacrebleu"),
        interval=Rule("logit100", size=("chrf_words", "reference1")),
    ),
    _score(
        *("ter", ter, ("edits",), "Translation edit rate", "lower", "Snover et al. 2006"),
        advice="ignores case, as sacrebleu and Tercom do by default, and takes long to compute",
        shown_in="percent",
        cites=("ter", "sacrebleu"),
        interval=error_rule("edits", "edits", "reference"),
    ),
)
