"""The rules of the default intervals once more, slowly: plain loops over records, one formula after
another, for tests to compare with.

A record is a dictionary with `score` or `decision`, `label` (1 target, 0 nontarget), `weight`, and
the unit of each factor; a scale g rises as the measure gets worse.
"""

import math

import numpy as np
from scipy import stats

Z = 1.959963984540054
SCALES = {  # g of values that are better when they are low, and its inverse
    "log": (math.log, math.exp),
    "log1m": (lambda v: math.log(1 - v), lambda x: 1 - math.exp(x)),
    "-logit": (lambda v: -math.log(v / (1 - v)), lambda x: 1 / (1 + math.exp(x))),
    "identity": (lambda v: v, lambda x: x),
}


def kish(sizes):
    return sum(sizes) ** 2 / sum(s * s for s in sizes)


def t_quantile(nu):
    return float(stats.t.ppf(0.975, nu))


def units_of(records, factor):
    return sorted({r[factor] for r in records})


def without(records, factor, unit, stratum=None):
    """The records without a unit; the rest of its stratum, if it has one, weighs n / (n - 1)."""
    rest = [r for r in records if r[factor] != unit]
    if stratum is None:
        return rest
    own = next(r[stratum] for r in records if r[factor] == unit)
    n = len(units_of([r for r in records if r[stratum] == own], factor))
    return [r | {"weight": r["weight"] * n / (n - 1)} if r[stratum] == own else r for r in rest]


def leave_out(records, value, factor="unit", stratum=None):
    return [value(without(records, factor, u, stratum)) for u in units_of(records, factor)]


def carried(d):
    """nu_k / 2."""
    second, fourth = sum(x**2 for x in d), sum(x**4 for x in d)
    if second == 0:
        return 0.0
    under = fourth - second**2 / len(d)
    return second**2 / under if under > 1e-12 * fourth else math.inf


# --- A: smooth measures -------------------------------------------------------------------------


def one_way(records, value, g, factor, size):
    """SE^2, nu and what one more unit like the highest and the lowest does, leaving out units."""
    at = g(value(records))
    lo = [g(v) for v in leave_out(records, value, factor)]
    n = len(lo)
    mean = sum(lo) / n
    d = [x - mean for x in lo]
    moved = [-(n - 1) * x for x in d]
    variance = (n - 1) / n * sum((x - at) ** 2 for x in lo)
    n_w = kish([sum(size(r) for r in records if r[factor] == u) for u in units_of(records, factor)])
    nu = min(n - 1, max(2, n_w - 1), max(2, 2 * carried(d)))
    return variance, nu, max(moved) / n, max(-u for u in moved) / n


def stratified(records, value, g, factor, stratum, size):
    at = sorted({(r[stratum], r[factor]) for r in records})
    lo = {(s, u): g(value(without(records, factor, u, stratum))) for s, u in at}
    shares, every, rise, fall = [], [], [], []
    for h in sorted({s for s, _ in at}):
        own = [v for (s, _), v in lo.items() if s == h]
        n, mean = len(own), sum(own) / len(own)
        d = [x - mean for x in own]
        shares.append((n, (n - 1) / n * sum(x * x for x in d)))
        every += d
        rise += [-(n - 1) * x / n for x in d]
        fall += [(n - 1) * x / n for x in d]
    variance = sum(v for _, v in shares)
    nu = variance**2 / sum(v**2 / (n - 1) for n, v in shares)
    n_w = kish([sum(size(r) for r in records if r[factor] == u) for u in units_of(records, factor)])
    nu = min(nu, max(2, n_w - 1), max(2, 2 * carried(every)))
    return variance, nu, max(rise), max(fall)


def smooth(records, value, scale, factors=("unit",), *, stratum=None, replicates=(), chosen=False,
           excess=False, size=lambda r: r["weight"]):  # fmt: skip
    """Rule A; crossed factors and strata as in rule H."""
    g, back = SCALES[scale]
    point = g(value(records))
    if stratum is None:
        found = [one_way(records, value, g, f, size) for f in factors]
    else:
        found = [stratified(records, value, g, factors[0], stratum, size)]
    variance = sum(v for v, *_ in found)
    nu = variance**2 / sum(v**2 / k for v, k, *_ in found)
    far = min(1, 20 / nu)
    low = point - t_quantile(nu) * math.sqrt(variance)
    high = point + t_quantile(nu) * math.sqrt(variance) + far * max(r for *_, r, _ in found)
    if scale == "identity":
        low -= far * max(f for *_, f in found)
    moved = np.array([g(r) for r in replicates if scale == "identity" or 0 < r < math.inf])
    if nu > 100:
        w = 100 / nu
        low = w * low + (1 - w) * np.quantile(moved, 0.025)
        high = w * high + (1 - w) * np.quantile(moved, 0.975)
    if chosen:
        high -= min(0.0, float(np.mean(moved)) - point)
    if excess:
        seen = math.sqrt(2) - 1  # of the bias of the best of several that are equal
        low = max(0.0, low - max(0.0, float(np.mean(moved)) - point) / seen)
    return tuple(sorted((back(low), back(high))))


# --- B: rates -----------------------------------------------------------------------------------


def share(records, wrong):
    return sum(wrong(r) * r["weight"] for r in records) / sum(r["weight"] for r in records)


def rate(records, wrong, factors=("unit",), *, stratum=None, icc=0.1, trials=None):
    """Rule B: value, lower, upper, n_e. `records` are the trials of the class."""
    p, trials = share(records, wrong), trials or kish([r["weight"] for r in records])
    variance, assumed, n_w, k_c, nu = 0.0, 1.0, math.inf, math.inf, math.inf
    each = []  # SE^2 and degrees of freedom of each factor
    for factor in factors:
        units = units_of(records, factor)
        own = kish([sum(r["weight"] for r in records if r[factor] == u) for u in units])
        n_w, n = min(n_w, own), len(units)
        assumed += icc * (trials / own - 1)
        d = [v - p for v in leave_out(records, lambda rest: share(rest, wrong), factor, stratum)]
        if stratum is None:
            variance += (n - 1) / n * sum(x * x for x in d)
        else:
            variance, freedom, d = rate_in_strata(records, units, d, factor, stratum)
            nu = min(nu, freedom)
        k_c = min(k_c, carried(d))
        each.append(((n - 1) / n * sum(x * x for x in d), max(1, min(own - 1, carried(d) + 1))))
    nu, design = n_w - 1, assumed
    if 0 < p < 1:
        few = min(k_c, 1e9)
        design = (few * variance / (p * (1 - p) / trials) + 2 * assumed) / (few + 2)
        nu = min(nu, k_c + 1)
        if len(factors) > 1 and variance:  # Satterthwaite
            nu = variance**2 / sum(v**2 / f for v, f in each)
        if stratum is not None:
            nu = min(nu, max(freedom, 1))
    nu = max(1.0, nu)
    effective = max(trials / max(1.0, design) * (Z / t_quantile(nu)) ** 2, min(n_w, trials))
    k = p * effective
    lower = 0.0 if p == 0 else min(p, stats.beta.ppf(0.025, k + 0.25, effective - k + 0.75))
    upper = 1.0 if p == 1 else max(p, stats.beta.ppf(0.975, k + 0.75, effective - k + 0.25))
    return p, float(lower), float(upper), effective


def rate_in_strata(records, units, d, factor, stratum):
    """SE^2, degrees of freedom by Satterthwaite, and deviations from the means of strata."""
    of = {r[factor]: r[stratum] for r in records}
    shares, apart = [], []
    for h in sorted(set(of.values())):
        own = [x for u, x in zip(units, d, strict=True) if of[u] == h]
        n, mean = len(own), sum(own) / len(own)
        shares.append((n, (n - 1) / n * sum((x - mean) ** 2 for x in own)))
        apart += [x - mean for x in own]
    variance = sum(v for _, v in shares)
    freedom = variance**2 / sum(v**2 / (n - 1) for n, v in shares) if variance else 1.0
    n_w = kish([sum(r["weight"] for r in records if r[factor] == u) for u in units])
    return variance, min(freedom, max(2, n_w - 1), max(2, 2 * carried(apart))), apart


# --- C and D: sums, differences and ratios ------------------------------------------------------


def correlated(records, values, factors=("unit",)):
    """Correlation of what leaving out units does to two figures, clipped at 0."""
    products = [0.0, 0.0, 0.0]
    for factor in factors:
        lo = [leave_out(records, value, factor) for value in values]
        n = len(lo[0])
        a, b = ([v - sum(side) / n for v in side] for side in lo)
        for i, (x, y) in enumerate(((a, b), (a, a), (b, b))):
            products[i] += (n - 1) / n * sum(p * q for p, q in zip(x, y, strict=True))
    under = math.sqrt(products[1] * products[2])
    return min(1.0, max(0.0, products[0] / under)) if under > 0 else 0.0


def mover(weights, limits, correlations):
    """Ends of sum w p; `correlations[i, j]` of each pair."""
    down, up = [], []
    for w, (p, lower, upper, *_) in zip(weights, limits, strict=True):
        down.append(w * (p - lower) if w > 0 else -w * (upper - p))
        up.append(w * (upper - p) if w > 0 else -w * (p - lower))
    value = sum(w * m[0] for w, m in zip(weights, limits, strict=True))
    pairs = {(i, j): r for (i, j), r in correlations.items() if weights[i] * weights[j] > 0}
    below = sum(x * x for x in down) + sum(2 * r * down[i] * down[j] for (i, j), r in pairs.items())
    above = sum(x * x for x in up) + sum(2 * r * up[i] * up[j] for (i, j), r in pairs.items())
    return value - math.sqrt(below), value + math.sqrt(above)


def apart(a, b, r):
    """Ends of a - b from (value, lower, upper) of both."""
    (a, a_low, a_high), (b, b_low, b_high) = a[:3], b[:3]
    below = (a - a_low) ** 2 + (b_high - b) ** 2 - 2 * r * (a - a_low) * (b_high - b)
    above = (a_high - a) ** 2 + (b - b_low) ** 2 - 2 * r * (a_high - a) * (b - b_low)
    return a - b - math.sqrt(max(0, below)), a - b + math.sqrt(max(0, above))


def quotient(a, b, r):
    """Ends of a / b: on logarithms, or by Donner and Zou where an end is 0."""
    if min(*a[:3], *b[:3]) > 0:
        low, high = apart([math.log(x) for x in a[:3]], [math.log(x) for x in b[:3]], r)
        return math.exp(low), math.exp(high)
    (a, a_low, a_high), (b, b_low, b_high) = a[:3], b[:3]
    p = a * b - r * (a - a_low) * (b_high - b)
    inside = p**2 - a_low * b_high * (2 * a - a_low) * (2 * b - b_high)
    low = (p - math.sqrt(max(0, inside))) / (b_high * (2 * b - b_high))
    p = a * b - r * (a_high - a) * (b - b_low)
    under = b_low * (2 * b - b_low)
    if under == 0:
        return max(0.0, low), math.inf
    inside = p**2 - a_high * b_low * (2 * a - a_high) * (2 * b - b_low)
    return max(0.0, low), (p + math.sqrt(max(0, inside))) / under


# --- E and F: thresholds ------------------------------------------------------------------------


def at_every_threshold(records):
    """Pmiss and Pfa at every threshold; accept at or above it."""
    found = []
    for t in [*sorted({r["score"] for r in records}), math.inf]:
        sides = {
            k: share([r for r in records if r["label"] == k],
                     lambda r, t=t: (r["score"] >= t) != r["label"])
            for k in (0, 1)
        }  # fmt: skip
        found.append((t, sides[1], sides[0]))
    return found


def errors_at(records, threshold, icc=0.1):
    """Rule B of the misses and of the false alarms at a threshold."""
    return [
        rate([r for r in records if r["label"] == k],
             lambda r: (r["score"] >= threshold) != r["label"], icc=icc)
        for k in (1, 0)
    ]  # fmt: skip


def arc(p, n):
    return math.asin(math.sqrt((p * n + 0.375) / (n + 0.75)))


def extremes(places):
    """From (centre, q, weight) of every threshold to the ends."""
    least = min(q for _, q, _ in places)
    low, high = [], []
    for centre, q, weight in places:
        if q <= Z**2 or q == least:
            reach = math.sqrt(max(0.0, Z**2 - q) / weight)
            low.append(centre - reach)
            high.append(centre + reach)
    return math.sin(max(0.0, min(low))) ** 2, math.sin(min(math.pi / 2, max(high))) ** 2


def equal_errors(records):
    """Rule E for the EER; its threshold is where both rates are nearest."""
    every = at_every_threshold(records)
    nearest = min(every, key=lambda e: (abs(e[1] - e[2]), e[0]))[0]
    n_m, n_f = (limits[3] for limits in errors_at(records, nearest))
    w_m, w_f = 4 * (n_m + 0.5), 4 * (n_f + 0.5)
    places = []
    for _, miss, fa in every:
        a_m, a_f = arc(miss, n_m), arc(fa, n_f)
        q = w_m * w_f * (a_m - a_f) ** 2 / (w_m + w_f)
        places.append(((w_m * a_m + w_f * a_f) / (w_m + w_f), q, w_m + w_f))
    return extremes(places)


def misses_at(records, given):
    """Rule E for the misses at a rate of false alarms."""
    every = at_every_threshold(records)
    allowed = [e for e in every if e[2] <= given]
    chosen = min(allowed, key=lambda e: (e[1], e[0]))[0]
    n_m, n_f = (limits[3] for limits in errors_at(records, chosen))
    w_m, w_f = 4 * (n_m + 0.5), 4 * (n_f + 0.5)
    over = [arc(f, n_f) - math.asin(math.sqrt(given)) for _, _, f in every]
    places = []
    for k, (_, m, _) in enumerate(every):
        # chosen where its own rate is kept, and that of the threshold before it is not
        wrong = max(0.0, over[k], -over[k - 1] if k else 0.0)
        places.append((arc(m, n_m), w_f * wrong**2, w_m))
    return extremes(places)


# --- G: batches in order ------------------------------------------------------------------------


def in_order(records, value, factor):
    """Standard error on logarithms and degrees of freedom, of units in order of time."""
    at = math.log(value(records))
    lo = [math.log(v) for v in leave_out(records, value, factor)]
    length = len(lo)
    mean = sum(lo) / length
    moved = [-(length - 1) * (x - mean) for x in lo]
    nu = max(3, math.floor(0.3 * length ** (2 / 3)))
    squares = []
    for j in range(1, nu + 1):
        waves = (math.cos(math.pi * j * (t - 0.5) / length) for t in range(1, length + 1))
        total = math.sqrt(2 / length) * sum(u * w for u, w in zip(moved, waves, strict=True))
        squares.append(total**2)
    low = length / (length - 1) * sum(squares) / nu / length
    alone = (length - 1) / length * sum((x - at) ** 2 for x in lo)
    return math.sqrt(max(low, alone)), nu
