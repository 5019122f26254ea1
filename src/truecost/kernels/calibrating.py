"""Passes over the trials that fit a calibration: losses with derivatives, pooled blocks.

Weights are those of the trials in the loss: they sum to one, class priors included.
"""

import math

import numpy as np

from truecost.kernels import kernel
from truecost.kernels.sweeps import Codes, Floats, Ints


@kernel
def logistic_pass(
    scores: Floats,
    codes: Codes,
    weights: Floats,
    scale: float,
    offset: float,
    out: Floats,
) -> None:
    """Loss sum w ln(1 + exp(-+(scale s + offset))) in nats, with derivatives.

    Fills loss, d/dscale, d/doffset, d2/dscale2, d2/dscale doffset, d2/doffset2.
    """
    loss, g_a, g_b, h_aa, h_ab, h_bb = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(scores)):
        z = scale * scores[i] + offset
        e = math.exp(-abs(z))
        larger, smaller = 1.0 / (1.0 + e), e / (1.0 + e)
        p = larger if z >= 0.0 else smaller
        target = codes[i] == 1
        wrong = z < 0.0 if target else z > 0.0
        loss += weights[i] * (math.log1p(e) + (abs(z) if wrong else 0.0))
        # p - 1 is written as -(1 - p), which keeps its digits where p is near 1
        g = -weights[i] * (smaller if z >= 0.0 else larger) if target else weights[i] * p
        h = weights[i] * larger * smaller
        g_a += g * scores[i]
        g_b += g
        h_aa += h * scores[i] * scores[i]
        h_ab += h * scores[i]
        h_bb += h
    out[0], out[1], out[2], out[3], out[4], out[5] = loss, g_a, g_b, h_aa, h_ab, h_bb


@kernel
def multinomial_pass(
    scores: Floats,
    labels: Ints,
    weights: Floats,
    scale: float,
    offsets: Floats,
    gradient: Floats,
    hessian: Floats,
) -> float:
    """Loss sum w -ln softmax(scale s + offsets)[truth] in nats, with derivatives by the scale and
    the offsets (in this order). Second derivatives fill `hessian`: none when it is empty, that by
    the scale when it has one entry, else all.
    """
    trials, classes = scores.shape
    p = np.empty(classes)
    gradient[:] = 0.0
    hessian[:] = 0.0
    second, full = hessian.shape[0] > 0, hessian.shape[0] > 1
    loss = 0.0
    for i in range(trials):
        w = weights[i]
        top = -np.inf
        for k in range(classes):
            p[k] = scale * scores[i, k] + offsets[k]
            top = max(top, p[k])
        truth = p[labels[i]] - top
        total = 0.0
        for k in range(classes):
            p[k] = math.exp(p[k] - top)
            total += p[k]
        loss += w * (math.log(total) - truth)
        mean = 0.0  # of the scores under the posteriors
        for k in range(classes):
            p[k] /= total
            mean += p[k] * scores[i, k]
        gradient[0] += w * (mean - scores[i, labels[i]])
        for k in range(classes):
            gradient[1 + k] += w * p[k]
        gradient[1 + labels[i]] -= w
        if not second:
            continue
        for k in range(classes):
            away = scores[i, k] - mean
            hessian[0, 0] += w * p[k] * away * away
            if not full:
                continue
            hessian[0, 1 + k] += w * p[k] * away
            hessian[1 + k, 1 + k] += w * p[k]
            for j in range(k + 1):
                hessian[1 + k, 1 + j] -= w * p[k] * p[j]
    if full:
        for k in range(classes):
            hessian[1 + k, 0] = hessian[0, 1 + k]
            for j in range(k):
                hessian[1 + j, 1 + k] = hessian[1 + k, 1 + j]
    return loss


@kernel
def pool_blocks(targets: Floats, nontargets: Floats, lasts: Ints) -> int:
    """Pool adjacent violators over groups of tied scores, in ascending order of score.

    The groups are pooled in place, so that targets/nontargets strictly rises. Writes the weights of
    each block and the index of its last group; returns the number of blocks. Groups without weight
    join the block before them (or after, at the start).
    """
    top = -1
    for k in range(len(targets)):
        t, n = targets[k], nontargets[k]
        if t == 0.0 and n == 0.0:
            if top >= 0:
                lasts[top] = k
            continue
        while top >= 0 and targets[top] * n >= t * nontargets[top]:
            t += targets[top]
            n += nontargets[top]
            top -= 1
        top += 1
        targets[top], nontargets[top], lasts[top] = t, n, k
    return top + 1


@kernel
def softmax_pass(
    matrix: Floats, labels: Ints, weights: Floats, parameters: Floats, gradient: Floats
) -> float:
    """Loss sum_i w_i (-ln p_i(label)) in nats, p_i = softmax(x_i A + b), with its gradient.

    `matrix` is (rows x features); `parameters` and `gradient` are (features + 1 x classes), the
    intercepts last. Features that are 0 cost nothing.
    """
    rows, features = matrix.shape
    classes = parameters.shape[1]
    gradient[:] = 0.0
    p = np.empty(classes)
    loss = 0.0
    for i in range(rows):
        for k in range(classes):
            p[k] = parameters[features, k]
        for f in range(features):
            x = matrix[i, f]
            if x != 0.0:
                for k in range(classes):
                    p[k] += x * parameters[f, k]
        largest = p[0]
        for k in range(1, classes):
            largest = max(largest, p[k])
        truth = p[labels[i]] - largest
        total = 0.0
        for k in range(classes):
            p[k] = math.exp(p[k] - largest)
            total += p[k]
        loss += weights[i] * (math.log(total) - truth)
        for k in range(classes):
            p[k] = weights[i] * p[k] / total
        p[labels[i]] -= weights[i]
        for k in range(classes):
            gradient[features, k] += p[k]
        for f in range(features):
            x = matrix[i, f]
            if x != 0.0:
                for k in range(classes):
                    gradient[f, k] += x * p[k]
    return loss
