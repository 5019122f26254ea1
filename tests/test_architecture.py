"""The proof that the core carries: six hard measures, each in at most 15 lines on its public names.

Each is checked against a brute-force version that repeats the resampled records as often as their
weights say and computes everything anew (DESIGN, "Proof that it carries").
"""

import inspect
from collections import Counter

import numpy as np
import pytest

import truecost as tc
from truecost.core.measure import share


def atwv(totals, application):
    """Actual term-weighted value: 1 - mean over queries of Pmiss + beta Pfa (paper 002, Eq. 6-7).

    Queries without occurrences in a replicate are left out and their share is told; query weights
    multiply the mean.
    """
    n_act, miss, fa = (totals.sums("queries", s) for s in ("n_act", "miss", "fa"))
    trials = np.round(totals.sums("audio", "seconds"))[:, None]
    loss = share(miss, n_act) + application.beta * share(fa, trials - n_act)
    drawn = totals.weights("query")
    weights = drawn * (n_act > 0)
    lost = np.where(weights > 0, weights * loss, 0.0)
    kept = weights.sum(axis=1)
    return 1 - share(lost.sum(axis=1), kept), 0.0, {"vanished": 1 - kept / drawn.sum(axis=1)}


def imlm(totals, application):
    """Macro IMLM: mean over streams of (N_ann + N_fp + q N_fn) / N with q = N / N_target."""
    n, targets, ann, fp, fn = (
        totals.sums("stream", s) for s in ("n", "targets", "annotations", "fp", "fn")
    )
    missed = np.where(targets > 0, share(fn, targets), 0.0)  # q N_fn / N
    return (share(ann + fp, n) + missed).mean(axis=1), 1.0


def penalised_bleu(totals, application):
    """BLEU of the adapted output + impaired - corrected (paper 004, Eq. 1 and appendix A)."""
    match, total = (totals.sums("ngrams", s) for s in ("match", "total"))  # versions x orders
    hyp, ref = (totals.sums("lengths", s) for s in ("hyp", "ref"))
    brevity = np.minimum(1 - ref / hyp, 0)
    bleu = 100 * np.exp(brevity + np.log(match / total).mean(axis=-1))
    base, impaired, corrected, adapted = bleu.T
    return adapted + impaired - corrected, base


def relative_rates(totals, rate, limit):
    """AB/BA direct ratios at the threshold of highest rRecall with rFPR <= limit (paper 001)."""
    n = totals.sums("items", "n")  # arm, label, whether the other model accepts, grid
    above = n[..., ::-1].cumsum(axis=-1)[..., ::-1][..., 1:]  # B accepts at each threshold
    collected_by_a = n[:, 0, :, 1].sum(axis=-1, keepdims=True)
    by_b, by_both = above[:, 1].sum(axis=2), above[:, 1, :, 1]
    ratios = share(above[:, 0, :, 1], collected_by_a) * share(by_b, by_both)
    recall = np.where(ratios[:, 0] <= limit, ratios[:, 1], -1.0)
    best = recall.argmax(axis=1)[:, None]
    chosen = np.take_along_axis(ratios[:, rate], best, axis=1)[:, 0]
    return np.where(recall.max(axis=1) >= 0, chosen, np.nan), 1.0


def r_recall(totals, application, limit):
    return relative_rates(totals, 1, limit)


def r_fpr(totals, application, limit):
    return relative_rates(totals, 0, limit)


def nec(totals, application):
    """Expected cost over that of the best constant decision of the replicate (paper 003, 3.5)."""
    counts = totals.sums("decisions", "n")
    costs = application.matrix(counts.shape[1])
    naive = (counts.sum(axis=2)[..., None] * costs).sum(axis=1).min(axis=1)
    return share((counts * costs).sum(axis=(1, 2)), naive), 1.0


def nmae(totals, application):
    """Mean absolute error over that of the best constant, a weighted median (paper 003, 3.5)."""
    absolute = totals.sums("errors", "absolute")
    return share(absolute, totals.sweep("truths").median()[1]), 1.0


def measure(function, *parts, **more):
    return tc.Measure(function.__name__, function, parts, "", "lower", "test", **more)


HARD = [atwv, imlm, penalised_bleu, relative_rates, r_recall, r_fpr, nec, nmae]


@pytest.mark.parametrize("function", HARD, ids=lambda f: f.__name__)
def test_a_measure_takes_at_most_15_lines(function):
    assert len(inspect.getsourcelines(function)[0]) <= 15


def replicates(evidence, measures, plan, application=None):
    """Weights of each factor by unit label, and the value of each measure, for each replicate."""
    found = tc.estimate(evidence, measures, application or tc.Application(), plan)
    block = plan.weights(evidence.factors).block()
    for r in range(plan.replicates):
        weights = {
            name: Counter(dict(zip(factor.labels, block[name][r].tolist(), strict=True)))
            for name, factor in evidence.factors.items()
        }
        yield weights, [estimate.replicates[r] for estimate in found]


def repeated(records, weights, key):
    """Each record as often as its unit weighs."""
    return [record for record in records for _ in range(weights[key(record)])]


@pytest.mark.parametrize("crossed", [False, True])
def test_atwv_with_documents_and_queries(crossed):
    rng = np.random.default_rng(1)
    seconds = {f"doc{d}": rng.integers(100, 900) for d in range(8)}
    drawn = rng.integers([0, 0], [8, 6], (60, 2))
    records = [(f"doc{d}", int(q), rng.choice(["hit", "miss", "fa"])) for d, q in drawn]
    records = [r for r in records if not (r[1] == 5 and r[0] != "doc3")] + [("doc3", 5, "hit")]
    document, codes = tc.Factor.encode("document", [*seconds, *(d for d, _, _ in records)])
    query, queries = tc.Factor.encode("query", [q for _, q, _ in records])
    kinds = np.array([kind for *_, kind in records])
    counts = {"n_act": kinds != "fa", "miss": kinds == "miss", "fa": kinds == "fa"}
    axes = {"query": (query.labels, queries)}
    parts = {
        "audio": tc.Tally.count([(document, codes[:8])], {"seconds": list(seconds.values())}),
        "queries": tc.Tally.count([(document, codes[8:])], counts, axes),
    }
    evidence = tc.Evidence(parts, outer=(query,))
    plan = tc.Plan(60, hold=() if crossed else ("query",))
    application = tc.Application.detection(10, 1, 0.001)
    vanished = 0
    for w, (found,) in replicates(evidence, [measure(atwv, *parts)], plan, application):
        audio = sum(seconds[d] for d in repeated(seconds, w["document"], str))
        losses = []
        for q in query.labels:
            rows = repeated([r for r in records if r[1] == q], w["document"], lambda r: r[0])
            n = Counter(kind for *_, kind in rows)
            n_act = n["hit"] + n["miss"]
            vanished += n_act == 0
            if n_act:
                loss = n["miss"] / n_act + application.beta * n["fa"] / (audio - n_act)
                losses += [loss] * w["query"][q]
        assert found == pytest.approx(1 - np.mean(losses), abs=1e-12)
    assert vanished > 0  # query 5 is in one document only
    (row,) = tc.estimate(evidence, [measure(atwv, *parts)], application, plan)
    assert row.counts["vanished"] == 0
    if not crossed:
        share_of_six = vanished / plan.replicates / len(query.labels)
        assert row.counts["vanished_mean"] == pytest.approx(share_of_six)


def test_imlm_of_streams_by_moving_blocks():
    rng = np.random.default_rng(2)
    streams, size = np.repeat(["hi", "or", "ta"], [40, 25, 31]), 96
    batch = np.concatenate([np.arange(n) // 4 for n in (40, 25, 31)])
    label, decision, asked = (rng.random((3, size)) < [[0.3], [0.3], [0.2]]).astype(int)
    factor, codes = tc.Factor.encode("batch", batch, strata=streams)
    statistics = {
        "n": np.ones(size, int),
        "targets": label,
        "annotations": asked,
        "fp": (1 - asked) * (1 - label) * decision,
        "fn": (1 - asked) * label * (1 - decision),
    }
    names, places = np.unique(streams, return_inverse=True)
    bootstrap = np.array([[0, 0, 8, 0, 0], [0, 0, 6, 0, 0], [0, 0, 8, 0, 0]])
    axes = {"stream": (names, places)}
    tally = tc.Tally.count([(factor, codes)], statistics, axes, fixed=bootstrap)
    evidence, plan = tc.Evidence({"stream": tally}), tc.Plan(50, schemes={"batch": "blocks"})
    rows = list(zip(streams, batch, *statistics.values(), strict=True))
    for w, (found,) in replicates(evidence, [measure(imlm, "stream")], plan):
        values = []
        for s, name in enumerate(names):
            again = repeated(rows, w["batch"], lambda r: f"{r[0]}/{r[1]}")
            n, targets, ann, fp, fn = np.array([r[2:] for r in again if r[0] == name]).sum(axis=0)
            q = n / targets if targets else 0
            values.append((ann + bootstrap[s, 2] + fp + q * fn) / n)
        assert found == pytest.approx(np.mean(values), abs=1e-12)


MATCHES = [[7, 4, 1, 0], [0, 0, 0, 0], [11, 10, 9, 8], [11, 10, 9, 8]]  # of the sentence corrected
OTHERS = [[133, 73, 40, 25]] * 3 + [[140, 79, 45, 29]]  # of the nine others together
LENGTHS = [[15, 218], [15, 218], [11, 218], [11, 217]]
REFERENCE = [11, 228]


def split(total, parts):
    return [total // parts + (k < total % parts) for k in range(parts)]


def test_penalised_bleu_gives_the_published_table():
    rows = []  # (sentence, version, hypothesis, reference, matches by order)
    for version in range(4):
        hyp = [LENGTHS[version][0], *split(LENGTHS[version][1], 9)]
        ref = [REFERENCE[0], *split(REFERENCE[1], 9)]
        shared = zip(*(split(m, 9) for m in OTHERS[version]), strict=True)
        matches = [MATCHES[version], *shared]
        rows += [(s, version, hyp[s], ref[s], matches[s]) for s in range(10)]
    sentence, codes = tc.Factor.encode("sentence", [r[0] for r in rows])
    of_version = (("base", "impaired", "corrected", "adapted"), [r[1] for r in rows])
    lengths = {"hyp": [r[2] for r in rows], "ref": [r[3] for r in rows]}
    order = np.tile(np.arange(4), len(rows))
    ngrams = {
        "match": np.concatenate([r[4] for r in rows]),
        "total": np.repeat(lengths["hyp"], 4) - order,
    }
    each = {"version": (of_version[0], np.repeat(of_version[1], 4)), "order": ("1234", order)}
    parts = {
        "lengths": tc.Tally.count([(sentence, codes)], lengths, {"version": of_version}),
        "ngrams": tc.Tally.count([(sentence, np.repeat(codes, 4))], ngrams, each),
    }
    evidence, plan = tc.Evidence(parts), tc.Plan(40)
    penalised = measure(penalised_bleu, *parts)
    (found,) = tc.estimate(evidence, [penalised], tc.Application(), plan)
    assert found.value == pytest.approx(27.5363, abs=5e-4)  # generalisation
    assert found.naive == pytest.approx(25.8088, abs=5e-4)  # base

    def bleu(version, rows):
        chosen = [r for r in rows if r[1] == version]
        hyp, ref = sum(r[2] for r in chosen), sum(r[3] for r in chosen)
        matches = np.sum([r[4] for r in chosen], axis=0)
        totals = hyp - len(chosen) * np.arange(4)
        brevity = min(1, np.exp(1 - ref / hyp))
        return 100 * brevity * np.prod((matches / totals) ** 0.25)

    table = [bleu(version, rows) for version in range(4)]
    assert table == pytest.approx([25.8088, 24.9877, 29.6998, 32.2484], abs=5e-4)
    assert table[0] + table[1] - table[2] == pytest.approx(21.0967, abs=5e-4)  # no learning
    for w, (value,) in replicates(evidence, [penalised], plan):
        again = repeated(rows, w["sentence"], lambda r: r[0])
        wanted = bleu(3, again) + bleu(1, again) - bleu(2, again)
        assert value == pytest.approx(wanted, abs=1e-12)


def test_abba_chooses_its_threshold_in_every_replicate():
    rng = np.random.default_rng(3)
    grid, users = np.array([0.3, 0.4, 0.5, 0.6, 0.7]), rng.integers(0, 30, 900)
    label, arm = rng.integers(0, 2, (2, 900))
    score_a, score_b = (np.clip(rng.normal(0.35 + 0.25 * label, 0.2), 0, 1) for _ in range(2))
    kept = np.where(arm == 0, score_a, score_b) >= 0.3  # what a model accepts is collected
    items = list(zip(users, arm, label, score_a, score_b, strict=True))
    items = [item for item, keep in zip(items, kept, strict=True) if keep]
    user, codes = tc.Factor.encode("user", users[kept])
    axes = {
        "arm": ("AB", arm[kept]),
        "label": ("01", label[kept]),
        "a_accepts": (("no", "yes"), score_a[kept] >= 0.3),
        "grid": (range(6), np.searchsorted(grid, score_b[kept], side="right")),
    }
    tally = tc.Tally.count([(user, codes)], {"n": np.ones(len(items), int)}, axes)
    both = [measure(f, "items", parameter="0.8", parse=float) for f in (r_recall, r_fpr)]
    chosen = set()
    for w, found in replicates(tc.Evidence({"items": tally}), both, tc.Plan(60)):
        best = (-1, -1, None)
        again = repeated(items, w["user"], lambda item: item[0])
        for threshold in grid:
            ratios = []
            for y in (1, 0):
                n = Counter(
                    ("AB"[k], a >= 0.3, b >= threshold) for _, k, t, a, b in again if t == y
                )
                n11a, n10a = n["A", True, True], n["A", True, False]
                n11b, n01b = n["B", True, True], n["B", False, True]
                ratios.append(n11a / (n11a + n10a) * (n11b + n01b) / n11b)
            if ratios[1] <= 0.8 and ratios[0] > best[0]:
                best = (*ratios, threshold)
        assert found == pytest.approx(best[:2], abs=1e-12)
        chosen.add(best[2])
    assert len(chosen) > 1  # the threshold does change


def test_nec_takes_the_reference_of_each_replicate():
    rng = np.random.default_rng(4)
    costs = ((0.0, 1.0, 2.0, 0.9), (1.0, 0.0, 1.0, 0.9), (2.0, 1.5, 0.0, 0.9))
    speakers, truth, decision = rng.integers(0, [[12], [3], [4]], (3, 90))
    speaker, codes = tc.Factor.encode("speaker", speakers)
    axes = {"class": ("abc", truth), "decision": ("abc-", decision)}
    tally = tc.Tally.count([(speaker, codes)], {"n": np.ones(90, int)}, axes)
    evidence = tc.Evidence({"decisions": tally})
    rows, best = list(zip(speakers, truth, decision, strict=True)), set()
    application = tc.Application(costs)
    for w, (found,) in replicates(evidence, [measure(nec, "decisions")], tc.Plan(50), application):
        again = repeated(rows, w["speaker"], lambda r: r[0])
        constant = [sum(costs[k][d] for _, k, _ in again) for d in range(4)]
        best.add(int(np.argmin(constant)))
        paid = sum(costs[k][d] for _, k, d in again)
        assert found == pytest.approx(paid / min(constant), abs=1e-12)
    assert len(best) > 1  # the best constant does change


def test_mae_over_the_best_constant_of_each_replicate():
    rng = np.random.default_rng(5)
    speakers, truth = rng.integers(0, 9, 70), np.round(rng.normal(0, 3, 70), 1)
    sides = [tc.Factor.encode("speaker", speakers)]
    error = np.abs(rng.normal(0, 1, 70))
    tally = tc.Tally.count(sides, {"absolute": error})
    evidence = tc.Evidence(
        {"errors": tally, "truths": tc.Ranking.from_scores(truth, np.zeros(70), sides)}
    )
    rows = list(zip(speakers, truth, error, strict=True))
    for w, (found,) in replicates(evidence, [measure(nmae, "errors", "truths")], tc.Plan(50)):
        _, truths, errors = np.array(repeated(rows, w["speaker"], lambda r: r[0])).T
        naive = np.abs(truths - np.median(truths)).sum()
        assert found == pytest.approx(errors.sum() / naive, abs=1e-12)
