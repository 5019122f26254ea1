"""One pass of multinomial logistic regression: the loss and its gradient."""

import math

import numpy as np

from truecost.kernels import kernel
from truecost.kernels.sweeps import Floats, Ints


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
