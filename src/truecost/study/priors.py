"""Several priors in one run: what does not depend on the prior stands once."""

from collections.abc import Hashable, Sequence
from dataclasses import replace

import msgspec

from truecost.core.results import Comparison, Estimate
from truecost.names import EVERY_PRIOR
from truecost.study.outcome import Part


def said_once(parts: Sequence[Part]) -> list[Part]:
    """Parts of the same systems at several priors; rows that are the same in all of them stand in
    the last alone, behind its own, as of every prior.
    """
    same: dict[Hashable, list[Estimate]] = {}
    for row in (row for part in parts for row in part.estimates):
        same.setdefault(_figures(row), []).append(row)
    common = {key: rows for key, rows in same.items() if len(rows) == len(parts)}

    def of_every(row: Estimate) -> Estimate:
        """A row as of every prior, with the counts that all priors give."""
        alike = common.get(_figures(row), [row])
        counts = {k: n for k, n in row.counts.items() if all(r.counts.get(k) == n for r in alike)}
        dims = {**row.dims, "application": EVERY_PRIOR}
        return msgspec.structs.replace(row, dims=dims, counts=counts)

    kept = []
    for part in parts:
        estimates = [row for row in part.estimates if _figures(row) not in common]
        comparisons = [c for c in part.comparisons if _figures(c.system) not in common]
        if part is parts[-1]:
            estimates += [of_every(row) for row in part.estimates if _figures(row) in common]
            comparisons += [
                Comparison(*map(of_every, (c.system, c.baseline, c.difference, c.ratio)))
                for c in part.comparisons
                if _figures(c.system) in common
            ]
        kept.append(replace(part, estimates=tuple(estimates), comparisons=tuple(comparisons)))
    return kept


def _figures(row: Estimate) -> Hashable:
    """What a row says beside its application: no two priors give a cost the same parameters, nor a
    decision the same threshold.
    """
    dims = tuple((k, v) for k, v in row.dims.items() if k != "application")
    figures = (row.value, row.lower, row.upper, row.naive, row.threshold)
    return dims, row.label, *figures, repr(row.parameters)
