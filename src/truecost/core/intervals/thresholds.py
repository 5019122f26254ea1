"""Limits of figures at a threshold that was chosen on the same data: equal error rates, and the
rate of one class where that of the other is given.

On the arc-sine scale a rate p of n_x effective trials has a_x = asin sqrt((p n_x + 3/8) / (n_x +
3/4)) with the weight w_x = 4 (n_x + 1/2) (Anscombe 1948). Every threshold that the data do not rule
out takes part:

- equal error rates: q = w_m w_f (a_m - a_f)^2 / (w_m + w_f) <= z^2 (or the least q), and there
  (w_m a_m + w_f a_f) / (w_m + w_f) -+ sqrt((z^2 - q) / (w_m + w_f));
- misses at a rate of false alarms: q = w_f (a_f - asin sqrt rate)^2 <= z^2, and a_m -+ sqrt((z^2 -
  q) / w_m); false alarms at a rate of misses likewise.
"""

import numpy as np
import numpy.typing as npt

from truecost.core.sweep import Sweep

Floats = npt.NDArray[np.float64]


def equal_error_limits(
    sweep: Sweep, of_misses: float, of_false_alarms: float, level: float
) -> tuple[float, float]:
    """Ends of the equal error rate.

    Parameters
    ----------
    sweep : Sweep
        With weights of one.
    of_misses, of_false_alarms : float
        n_e of both classes at the threshold of equal errors.
    """
    w_a, w_b = _weight(of_misses), _weight(of_false_alarms)
    both = w_a + w_b
    scale = np.sqrt(w_a * w_b / both)

    def distance(miss: Floats, fa: Floats) -> Floats:
        return np.asarray(scale * (_arc(miss, of_misses) - _arc(fa, of_false_alarms)))

    near = sweep.near(distance, _z(level))
    a, b = _arc(near.miss, of_misses), _arc(near.fa, of_false_alarms)
    return _extremes((w_a * a + w_b * b) / both, distance(near.miss, near.fa) ** 2, both, level)


def rate_at_limits(
    sweep: Sweep, of_misses: bool, of_rates: float, of_given: float, at: float, level: float
) -> tuple[float, float]:
    """Ends of the rate of one class where that of the other is `at`.

    Parameters
    ----------
    sweep : Sweep
        With weights of one.
    of_misses : bool
        Whether misses are asked for and the rate of false alarms is given.
    of_rates, of_given : float
        n_e of both at the chosen threshold.
    """
    scale, wanted = np.sqrt(_weight(of_given)), np.arcsin(np.sqrt(at))

    def distance(miss: Floats, fa: Floats) -> Floats:
        apart = wanted - _arc(fa, of_given) if of_misses else _arc(miss, of_given) - wanted
        return np.asarray(scale * apart)

    near = sweep.near(distance, _z(level))
    centres = _arc(near.miss if of_misses else near.fa, of_rates)
    return _extremes(centres, distance(near.miss, near.fa) ** 2, _weight(of_rates), level)


def _arc(rates: Floats, effective: float) -> Floats:
    """Rates on the arc-sine scale."""
    return np.asarray(np.arcsin(np.sqrt((rates * effective + 0.375) / (effective + 0.75))))


def _weight(effective: float) -> float:
    """What a rate weighs there."""
    return 4 * (effective + 0.5)


def _z(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def _extremes(centres: Floats, q: Floats, weight: float, level: float) -> tuple[float, float]:
    """The widest ends over the thresholds that are not ruled out, as rates."""
    most = _z(level) ** 2
    fine = (q <= most) | (q == q.min())
    reach = np.sqrt(np.maximum(most - q[fine], 0) / weight)
    low, high = float((centres[fine] - reach).min()), float((centres[fine] + reach).max())
    return float(np.sin(max(low, 0.0)) ** 2), float(np.sin(min(high, np.pi / 2)) ** 2)
