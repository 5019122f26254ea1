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

Floats = npt.NDArray[np.float64]


def equal_error_limits(
    miss: Floats, fa: Floats, of_misses: float, of_false_alarms: float, level: float
) -> tuple[float, float]:
    """Ends of the equal error rate.

    Parameters
    ----------
    miss, fa : ndarray of float64, shape (thresholds,)
        Pmiss and Pfa at every threshold.
    of_misses, of_false_alarms : float
        n_e of both classes at the threshold of equal errors.
    level : float
    """
    a, w_a = _arc(miss, of_misses)
    b, w_b = _arc(fa, of_false_alarms)
    both = w_a + w_b
    return _extremes((w_a * a + w_b * b) / both, w_a * w_b * (a - b) ** 2 / both, both, level)


def rate_at_limits(
    rates: Floats, given: Floats, of_rates: float, of_given: float, at: float, level: float
) -> tuple[float, float]:
    """Ends of the rate of one class where that of the other is `at`.

    Parameters
    ----------
    rates, given : ndarray of float64, shape (thresholds,)
        Rates of the class that is asked for and of the other one at every threshold.
    of_rates, of_given : float
        n_e of both at the chosen threshold.
    at : float
    level : float
    """
    a, w_a = _arc(rates, of_rates)
    b, w_b = _arc(given, of_given)
    return _extremes(a, w_b * (b - np.arcsin(np.sqrt(at))) ** 2, w_a, level)


def _arc(rates: Floats, effective: float) -> tuple[Floats, float]:
    """Rates on the arc-sine scale, and their weight there."""
    moved = np.arcsin(np.sqrt((rates * effective + 0.375) / (effective + 0.75)))
    return np.asarray(moved), 4 * (effective + 0.5)


def _extremes(centres: Floats, q: Floats, weight: float, level: float) -> tuple[float, float]:
    """The widest ends over the thresholds that are not ruled out, as rates."""
    from scipy.special import ndtri

    most = float(ndtri((1 + level) / 2)) ** 2
    fine = (q <= most) | (q == q.min())
    reach = np.sqrt(np.maximum(most - q[fine], 0) / weight)
    low, high = float((centres[fine] - reach).min()), float((centres[fine] + reach).max())
    return float(np.sin(max(low, 0.0)) ** 2), float(np.sin(min(high, np.pi / 2)) ** 2)
