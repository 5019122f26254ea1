"""Searches for terms made by hand or by chance, and their measures by brute force."""

import numpy as np
import polars as pl

from truecost.tasks.terms.records import Reference, Search


def reference_of(counts, seconds=100.0, tps=1.0, sources=None, **more):
    """A reference with `counts[q, d]` occurrences of query q in document d."""
    counts = np.asarray(counts)
    queries, documents = counts.shape
    seconds = np.broadcast_to(np.asarray(seconds, float), documents)
    query, place = (np.repeat(x.ravel(), counts.ravel()) for x in np.indices(counts.shape))
    start = np.concatenate([np.arange(n) * 2.0 for n in counts.ravel()]) if len(query) else []
    targets = pl.DataFrame(
        {
            "query": query.astype(np.int32),
            "place": place.astype(np.int32),
            "channel": ["1"] * len(query),
            "start": np.asarray(start, float),
            "end": np.asarray(start, float) + 1,
        }
    )
    places = np.arange(documents)
    return Reference(
        "made.rttm",
        pl.DataFrame(
            {
                "query": [f"q{q:04d}" for q in range(queries)],
                "text": [f"word {q}" for q in range(queries)],
                "length": ["long" if q % 2 else "short" for q in range(queries)],
            }
        ),
        pl.DataFrame(
            {
                "document": [f"d{d:04d}" for d in range(documents)],
                "source": sources or ["bnews"] * documents,
                "seconds": seconds,
                "trials": seconds * tps,
            }
        ),
        pl.DataFrame(
            {
                "place": places.astype(np.int32),
                "channel": ["1"] * documents,
                "start": np.zeros(documents),
                "end": seconds,
            }
        ),
        targets.with_columns(target=pl.int_range(targets.height, dtype=pl.Int32)),
        targets,
        trials_per_second=tps,
        **more,
    )


def search_of(reference, query, place, score, accepted, target, name="made"):
    """A search with these submitted trials."""
    n = len(score)
    score = np.asarray(score, float)
    answered = np.zeros(reference.queries.height, bool)
    answered[np.asarray(query, int)] = True
    return Search(
        name,
        reference,
        np.asarray(query, np.int32),
        np.asarray(place, np.int32),
        score,
        np.asarray(accepted, bool),
        np.asarray(target, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n),
        np.ones(n),
        ("1",),
        answered,
        float(score.min()) if n else float("nan"),
    )


def random_search(seed, queries=6, documents=5, detections=60, ties=True, seconds=100.0, tps=1.0):
    """A random search: some queries without targets, ties, decisions that contradict the scores."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.7, (queries, documents))
    counts[0] = 0
    reference = reference_of(counts, seconds + 10 * rng.random(documents), tps)
    found = rng.random(reference.targets.height) < 0.7
    target = np.concatenate([np.flatnonzero(found), np.full(detections, -1)])
    rows = reference.targets
    query = np.where(target >= 0, rows["query"].to_numpy()[target], 0)
    place = np.where(target >= 0, rows["place"].to_numpy()[target], 0)
    wrong = target < 0
    query[wrong] = rng.integers(0, queries, wrong.sum())
    place[wrong] = rng.integers(0, documents, wrong.sum())
    score = rng.normal(np.where(wrong, 0.0, 1.0))
    score = np.round(score, 1) if ties else score
    order = rng.permutation(len(score))
    accepted = score + rng.normal(size=len(score)) * 0.3 > 0.5
    return search_of(reference, *(x[order] for x in (query, place, score, accepted, target)))


def repeated(search, documents):
    """The search with document d taken `documents[d]` times: a bootstrap replicate, written out."""
    reference, places = search.reference, np.asarray(documents)
    old = np.repeat(np.arange(len(places)), places)
    counts = np.zeros((reference.queries.height, len(old)), int)
    by = np.zeros((reference.queries.height, len(places)), int)
    np.add.at(by, (reference.targets["query"].to_numpy(), reference.targets["place"].to_numpy()), 1)
    counts = by[:, old]
    made = reference_of(
        counts, reference.documents["seconds"].to_numpy()[old], reference.trials_per_second
    )
    rows = made.targets.with_row_index("row")
    columns = {"query": [], "place": [], "score": [], "accepted": [], "target": []}
    for new, d in enumerate(old):
        taken = {}
        for i in np.flatnonzero(search.place == d):
            q = int(search.query[i])
            target = -1
            if search.target[i] >= 0:
                own = rows.filter((pl.col("query") == q) & (pl.col("place") == new))["row"]
                target = int(own[taken.get(q, 0)])
                taken[q] = taken.get(q, 0) + 1
            values = (q, new, search.score[i], search.accepted[i], target)
            for name, value in zip(columns, values, strict=True):
                columns[name].append(value)
    return search_of(made, *columns.values())


def rates(search, accepted, weights=None, every=False):
    """Mean Pmiss and Pfa over queries, written out (paper 002, Eq. 1-5)."""
    queries = search.reference.queries.height
    weights = np.ones(queries) if weights is None else np.asarray(weights, float)
    miss, false, w_miss, w_false = 0.0, 0.0, 0.0, 0.0
    for q in range(queries):
        targets = search.reference.targets_by_query[q]
        mine = (search.query == q) & accepted
        wrong = (mine & (search.target < 0)).sum()
        if targets:
            right = (mine & (search.target >= 0)).sum()
            miss += weights[q] * (1 - right / targets)
            w_miss += weights[q]
        if targets or every:
            false += weights[q] * wrong / (search.reference.trials - targets)
            w_false += weights[q]
    return miss / w_miss, false / w_false


def brute_twv(search, accepted, beta, weights=None, every=False):
    """Term-weighted value of some decisions, written out."""
    miss, false = rates(search, accepted, weights, every)
    return 1 - miss - beta * false


def brute_mtwv(search, beta, weights=None):
    """Best threshold among the submitted scores and rejecting all, the lowest of equals."""
    best, at = 0.0, np.inf
    counts = search.reference.targets_by_query[search.query] > 0
    for t in np.unique(search.score[counts])[::-1]:
        value = brute_twv(search, search.score >= t, beta, weights)
        if value >= best - 1e-12:
            best, at = max(best, value), t
    return best, at


def brute_otwv(search, beta, weights=None):
    """Each query at its best threshold, written out."""
    queries = search.reference.queries.height
    weights = np.ones(queries) if weights is None else np.asarray(weights, float)
    total, mass = 0.0, 0.0
    for q in range(queries):
        targets = search.reference.targets_by_query[q]
        if not targets:
            continue
        mine = search.query == q
        best = 0.0
        for t in np.unique(search.score[mine]):
            chosen = mine & (search.score >= t)
            right = (chosen & (search.target >= 0)).sum() / targets
            wrong = (chosen & (search.target < 0)).sum() / (search.reference.trials - targets)
            best = max(best, right - beta * wrong)
        total += weights[q] * best
        mass += weights[q]
    return total / mass


def all_trials(search, floor):
    """Score, class and query of every trial of the queries that count, made real."""
    scores, classes, queries = [], [], []
    for q in range(search.reference.queries.height):
        targets = int(search.reference.targets_by_query[q])
        if not targets:
            continue
        mine = search.query == q
        right = search.score[mine & (search.target >= 0)]
        wrong = search.score[mine & (search.target < 0)]
        others = search.reference.trials - targets
        scores += [right, np.full(targets - len(right), floor)]
        scores += [wrong, np.full(others - len(wrong), floor)]
        classes += [np.ones(targets), np.zeros(others)]
        queries.append(np.full(search.reference.trials, q))
    return np.concatenate(scores), np.concatenate(classes), np.concatenate(queries)


def brute_cnxe(llr, classes, prior):
    """Normalised cross entropy of real trials (paper 002, Eq. 37-40)."""
    logit = np.log(prior / (1 - prior))
    right = np.logaddexp(0, -(llr[classes == 1] + logit)).mean()
    wrong = np.logaddexp(0, llr[classes == 0] + logit).mean()
    entropy = -prior * np.log(prior) - (1 - prior) * np.log(1 - prior)
    return (prior * right + (1 - prior) * wrong) / entropy
