"""Which score types fit the scores of a table: what is named where none was said."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from truecost.errors import TruecostError
from truecost.formats import Table
from truecost.formats.mapped import mapped_column
from truecost.names import SCORE_TYPES

Types = tuple[tuple[str, ...], str]
TOLERANCE = 1e-3  # of the sum of posteriors


def plausible_types(table: Table, columns: Mapping[str, str]) -> Types:
    """The score types that the scores of a table may have, and what these are.

    Parameters
    ----------
    columns : mapping of str to str
        The map.

    Returns
    -------
    types : tuple of str
        All where there are no scores to look at.
    why : str
        Behind "what the scores are", such as " (-10.8 to 7.91)"; empty where nothing is known.
    """
    column = mapped_column(columns, "score", table)
    names = () if column is None else tuple(column.split("+"))
    if not names or not {*names} <= {*table.columns}:
        return tuple(SCORE_TYPES), ""
    try:
        scores = _scores(table, names)
    except TruecostError:
        return ("decision",), " (they are texts)"
    known = scores[np.isfinite(scores).all(axis=1)]
    if not len(known):
        return tuple(SCORE_TYPES), ""
    why = f" ({known.min():.3g} to {known.max():.3g})"
    return (_of_several(known) if known.shape[1] > 1 else _of_one(known[:, 0])), why


def _scores(table: Table, names: tuple[str, ...]) -> npt.NDArray[np.float64]:
    """The scores, a column a class: InputError where they are no numbers."""
    if names[0] in table.matrices:
        matrix = table.matrices[names[0]].astype(np.float64)
        return matrix.reshape(len(matrix), -1)
    return np.stack([table.numbers(name, "score") for name in names], axis=1)


def _of_one(scores: npt.NDArray[np.float64]) -> tuple[str, ...]:
    """The types of one score a trial."""
    if {*np.unique(scores)} <= {0.0, 1.0}:
        return ("decision",)
    if scores.min() >= 0 and scores.max() <= 1:
        return ("posterior", "score")
    if scores.min() < 0 < scores.max():
        return ("llr", "score")
    if scores.max() <= 0:
        return ("llr", "log-posterior", "score")
    return ("score", "llr", "number")


def _of_several(scores: npt.NDArray[np.float64]) -> tuple[str, ...]:
    """The types of one score a class."""
    if (scores >= 0).all() and (np.abs(scores.sum(axis=1) - 1) < TOLERANCE).all():
        return ("posterior",)
    if (scores <= 0).all() and (np.abs(np.exp(scores).sum(axis=1) - 1) < TOLERANCE).all():
        return ("log-posterior",)
    return ("log-score",)
