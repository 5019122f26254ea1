"""Signatures of rows of event logs: every choice that decides the value of a measure, no other."""

from truecost.core.measure import Measure
from truecost.names import AnnotationSet
from truecost.tasks.streams.counting import Counted
from truecost.tasks.streams.options import SETS

ERRORS = ("pmiss", "pfa", "act_dcf", "error_rate", "mean_loss", "n_missed", "n_false_alarms")
COSTLY = ("imlm", "imlm_seconds", "imlm_money", "total_price", "mean_loss")  # of q, losses, prices
SECONDS = ("imlm_seconds", "imlm_money", "total_price")
PRICED = ("imlm_money", "total_price")
SUMS = ("total_price", "n_annotations", "n_items", "n_missed", "n_false_alarms")  # nothing pooled


def signed(signature: str, measure: Measure, phase: str, count: Counted) -> str:
    """A signature with the choices of a measure behind its label.

    Parameters
    ----------
    signature : str
        As `truecost.estimate` makes it.
    phase : str
        Empty for measures of both.
    """
    label, _, rest = signature.partition("|")
    return "|".join([label, *choices(measure.name, phase, count), rest])


def choices(name: str, phase: str, count: Counted) -> list[str]:
    """The choices that decide the value of a measure in a phase, as `name:choice`."""
    base, how = name.removesuffix("_trend").removesuffix("_gap"), count.how
    said = []
    if base != "n_annotations":
        said += [f"last:{how.last}"]
        said += [f"queried:{how.queried}"] if phase != "pre" else []
    if base in (*ERRORS, *COSTLY):
        said += _decisions(count)
    if base in COSTLY:
        said += _losses(count, base)
    if base not in SUMS:
        said.append(f"pooling:{how.pooling}")
    if base in (*COSTLY, "n_annotations") and base != "mean_loss":
        said += _annotations(count, phase)
    if base in SECONDS:
        stated = how.item_seconds
        said.append(f"item-seconds:{'measured' if stated is None else _exact(stated)}")
    if base in PRICED:
        prices = (how.prices.person, how.prices.cpu, how.prices.operating)
        said.append(f"prices:{'/'.join('none' if p is None else _exact(p) for p in prices)}")
    if name.endswith("_trend"):
        said.append(f"window:{count.window}")
    return said


def _decisions(count: Counted) -> list[str]:
    """How scores become decisions, and what a batch without targets is."""
    if count.online.kind != "detection":
        return []
    if count.how.decision == "own":
        return ["decision:own", f"empty:{count.how.empty}"]
    kind = "posterior" if count.how.posterior else "llr"
    return [f"decision:bayes:{kind}:{_exact(count.threshold)}", f"empty:{count.how.empty}"]


def _losses(count: Counted, base: str) -> list[str]:
    """What a miss, a wrong class or an error of a number costs."""
    how, kind = count.how, count.online.kind
    if kind == "numbers":
        return [f"tolerance:{_exact(how.tolerance or 0.0)}"]
    if kind == "classes":
        costs = count.application.costs or ()
        rows = [f"[{','.join(map(_exact, row))}]" for row in costs]
        return [f"costs:[{','.join(rows)}]"] if rows else []
    if base == "mean_loss":
        return []
    return [f"q:{'prevalence' if how.q is None else _exact(how.q)}"]


def _annotations(count: Counted, phase: str) -> list[str]:
    """Which annotations count, and when."""
    how = count.how
    named: tuple[AnnotationSet | str, ...] = tuple(n for n in SETS if n in how.annotations)
    said = [f"annotations:{'+'.join(named) or 'none'}"]
    if phase != "post":
        said.append(f"prequential:{'current-batch' if how.current_batch else 'earlier-batches'}")
    if how.before:
        said.append(f"before:{'+'.join(f'{name}={number}' for name, number in how.before)}")
    return said


def _exact(number: float) -> str:
    """A number to its last digit, whole ones without a point."""
    return repr(float(number)).removesuffix(".0")
