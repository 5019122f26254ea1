"""BLEU of documents whose sentences are easier or harder together."""

from functools import partial

import numpy as np

import truecost as tc
from covering.cells import Cell

ANY = tc.Application()
SENTENCES, TOKENS = 15, 22
SHARES = (0.6, 0.36, 0.23, 0.15)  # of n-grams that match, over all documents
SHORT = 0.95  # output over reference


def cells():
    """Documents of 15 sentences."""
    for documents in (5, 10, 30, 100):
        name = f"{documents} documents"
        yield Cell("translation", name, lambda: {"bleu:exp": truth()}, partial(drawn, documents))


def truth():
    """BLEU of infinitely many documents."""
    return 100 * np.exp(1 - 1 / SHORT) * np.exp(np.log(SHARES).mean())


def drawn(documents, rng, plan):
    """The n-grams of a document match at shares that move together."""
    size = np.maximum(3, np.round(SENTENCES * np.exp(rng.normal(-0.08, 0.4, documents)))) * TOKENS
    reference = size.astype(np.int64)
    hypothesis = rng.binomial(reference, SHORT)
    counts = {"hypothesis": hypothesis, "reference": reference}
    level = rng.beta(12, 12, documents) / 0.5  # mean 1, independent of size
    for n, share in enumerate(SHARES, 1):
        most = np.maximum(1, hypothesis - (n - 1) * reference // TOKENS)
        counts[f"totals{n}"] = most
        counts[f"matches{n}"] = rng.binomial(most, np.clip(share * level, 0, 1))
    tally = tc.Tally.count([tc.Factor.encode("document", np.arange(documents))], counts)
    [bleu] = tc.estimate(tc.Evidence({"ngrams": tally}), [tc.find("bleu")], ANY, plan, jobs=1)
    return [bleu]
