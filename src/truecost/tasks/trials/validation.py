"""Validation: everything that can be said of a file of scores before it is scored.

`load` stops at the first fault; a participant wants them all. Each check runs the same code as
scoring does and keeps its message. None needs the labels: a list of trials is enough, and without
one the file is checked on its own.

Scores that rank nontargets above targets, beyond chance, are the wrong way round.
"""

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np

from truecost.core.subsets import kish
from truecost.core.unit_index import UnitColumns
from truecost.errors import InputError, TruecostError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.formats.compound import identified
from truecost.formats.table import refuse_repeated, refuse_rows
from truecost.study import columns
from truecost.study.columns import Options
from truecost.study.config import Study
from truecost.study.settings import Reader, Source
from truecost.study.validation import Check, State
from truecost.tasks.trials.loading import check_classes, load
from truecost.tasks.trials.records import Codes, Floats, Mask
from truecost.tasks.trials.work import one_filter, options_of

LEVEL = 0.999  # of the interval of the AUC that must lie below 0.5


def beyond_chance(
    scores: Floats, targets: Mask, sides: UnitColumns, weights: Floats | None = None
) -> bool:
    """Whether the two-sided 99.9% interval of the AUC lies below 0.5.

    The variance of the AUC is that of the placement values of the trials (DeLong et al. 1988),
    added up within units (Obuchowski 1997); over crossed factors the sum of theirs. It is at least
    that of a system that knows nothing, (N + 1) / (12 m n), so that it is not 0 where all pairs are
    reversed. t quantile with one degree of freedom less than the class that stands in fewer units
    has units (Kish's number, where they are not of equal size); never where a class stands in one
    unit only. Arrays have the shape (N,); both classes must be there, and `sides` is as
    `counting.sides_of` gives it.
    """
    from scipy.special import stdtrit

    own = np.ones(len(scores)) if weights is None else weights
    each = np.where(targets, own, 0.0), np.where(targets, 0.0, own)
    sums = [float(weight.sum()) for weight in each]
    below = [share / total for share, total in zip(_below(scores, each), sums, strict=True)]
    placed = np.where(targets, below[1], 1 - below[0])
    area = float(each[0] @ placed) / sums[0]
    shares = [weight / total * (placed - area) for weight, total in zip(each, sums, strict=True)]
    of_chance = [kish(weight) for weight in each]
    chance = (sum(of_chance) + 1) / (12 * of_chance[0] * of_chance[1])
    variance, fewest = 0.0, np.inf
    for _, same in groupby(sides, key=lambda side: side[0].name):
        codes = [code for _, code in same]
        units = min(kish(_by_unit(weight, codes)) for weight in each)
        fewest = min(fewest, units)
        if units > 1:
            squares = float(np.square(_by_unit(shares[0] + shares[1], codes)).sum())
            variance += squares * units / (units - 1)
    if not fewest > 1:
        return False
    reach = stdtrit(fewest - 1, (1 + LEVEL) / 2)
    return bool(area + reach * np.sqrt(max(variance, chance)) < 0.5)


def _below(scores: Floats, weights: Sequence[Floats]) -> list[Floats]:
    """For each weighting the weight below each score, and half of that at the same score."""
    levels, places = np.unique(scores, return_inverse=True)
    at = [np.bincount(places, each, minlength=len(levels)) for each in weights]
    return [np.asarray((np.cumsum(each) - each / 2)[places]) for each in at]


def _by_unit(values: Floats, codes: Sequence[Codes]) -> Floats:
    """Sum of the values of each unit, over all sides on which it stands."""
    length = 1 + max(int(code.max()) for code in codes)
    return np.asarray(sum(np.bincount(code, values, minlength=length) for code in codes))


FEW_VALUES = 0.05  # distinct scores as a share of the trials: fewer are coarse


def validate(
    table: Table,
    options: Options,
    *,
    trials: Table | None = None,
    key: Table | None = None,
    metadata: Sequence[tuple[str, Table]] = (),
    name: str = "submission",
    stated: bool = True,
) -> list[Check]:
    """Check a file of scores without scoring it.

    Parameters
    ----------
    table : Table
        Scores.
    options : Options
        Meaning of the columns.
    trials : Table, optional
        Trials that need a score, with or without labels.
    key : Table, optional
        Trials with labels. With a key, all steps of loading are checked.
    metadata : sequence of (str, Table)
        Tables with further columns, each as a pair: the column of the trials whose values are
        looked up, and the table in which they are looked up (see `join_metadata`).
    name : str
        Name of the system.
    stated : bool
        Whether the user stated the score type. If False, messages do not mention the score type.

    Returns
    -------
    list of Check
        Checks in the order in which they were made. If none of them is an error, the file can be
        scored.

    Examples
    --------
    Trial c has no score, b is not a trial, and x is not a number:

    >>> import polars as pl
    >>> import truecost as tc
    >>> from truecost.formats import Table
    >>> from truecost.tasks.trials.validation import validate
    >>> scores = Table("mine.csv", pl.DataFrame({"id": ["a", "b"], "score": ["1.5", "x"]}))
    >>> asked = Table("trials.csv", pl.DataFrame({"id": ["a", "c"]}))
    >>> for check in validate(scores, tc.trials.Options("llr"), trials=asked):
    ...     print(check.state, check.name)
    ok rows
    error trials
    error trials
    error scores
    """
    said = f" ({table.layout})" if table.layout else ""
    found = [Check("rows", "ok", f"{table.source}: {counted(len(table), 'row')} read{said}")]
    wanted = trials if trials is not None else key
    try:
        table = identified(table, options.columns)
        wanted = None if wanted is None else identified(wanted, options.columns)
    except TruecostError as error:
        return [*found, Check("ids", "error", str(error))]
    if wanted is not None:
        found += _tried("trials", lambda: _same_ids(table, wanted, options))
    else:
        found += _tried("ids", lambda: _ids(table, options))
    [scores] = _tried("scores", lambda: _scores(table, options, stated))
    found.append(scores)
    if scores.state != "error" and options.kind not in ("decision", "values"):
        found += _spread(table, options)
    labelled = options.column("label", table) in table.columns and options.kind != "values"
    if all(check.state != "error" for check in found) and (key is not None or labelled):
        found += _tried("labels", lambda: _labels(table, options, name, key, metadata))
    return found


def _tried(name: str, check: Callable[[], str | list[Check]]) -> list[Check]:
    """The result of a check, or the error that stopped it."""
    try:
        said = check()
    except TruecostError as error:
        return [Check(name, "error", str(error))]
    return [Check(name, "ok", said)] if isinstance(said, str) else said


def _ids(table: Table, options: Options) -> str:
    ids = columns.trial_ids(table, options)
    if ids is None:
        return f"{table.source}: no id column; trials can be neither joined nor compared"
    return f"{table.source}: {counted(len(ids), 'id')}, none empty, none repeated"


def _same_ids(table: Table, wanted: Table, options: Options) -> list[Check]:
    """The ids are those of the trials: repeated and foreign ones, and missing ones unless they are
    allowed.
    """
    column = options.column("id", table)
    if column is None:
        raise UsageError(
            f"{table.source}: {table.headless}no column gives the ids; {table.listed}: name it "
            f"with --map id=COLUMN"
        )
    own, asked = table.texts(column, "id"), wanted.texts(column, "id")
    refuse_repeated(wanted.source, asked, where=wanted.where)
    found: list[Check] = []
    try:
        refuse_repeated(table.source, own, where=table.where)
    except InputError as error:  # ids beside the repeated ones may be missing or foreign too
        found.append(Check("trials", "error", str(error)))
    extra = own.filter(~own.is_in(asked.implode()).fill_null(value=False)).fill_null("(empty)")
    extra = extra.unique(maintain_order=True)
    absent = asked.filter(~asked.is_in(own.implode()).fill_null(value=False))
    if len(extra):
        said = f"{counted(len(extra), 'id')} not in the list {wanted.source}: {first_five(extra)}"
        found.append(Check("trials", "error", f"{table.source}: {said}"))
    if len(absent):
        said = f"{counted(len(absent), 'trial')} of the list {wanted.source} without a score"
        state: State = "error" if options.missing == "error" else "warning"
        found.append(Check("trials", state, f"{table.source}: {said}: {first_five(absent)}"))
    said = (
        f"{table.source}: the ids are exactly those of the {counted(len(wanted), 'trial')} asked "
        "for"
    )
    return found or [Check("trials", "ok", said)]


def _scores(table: Table, options: Options, stated: bool) -> str:
    if options.kind == "values":
        return f"{table.source}: no scores; columns are checked when their means are asked for"
    scores, _ = columns.scores_of(table, options)
    absent = np.isnan(scores if scores.ndim == 1 else scores.sum(axis=1))
    refuse_rows(
        table,
        absent & (options.missing == "error") & (options.kind != "decision"),
        ("score", "are", "missing or NaN"),
        None,
    )
    kind = f"of type {options.kind}" if stated else "(their type was not stated: --type)"
    if options.kind == "decision":
        kind += "; the decisions themselves are checked with the key"
    return f"{table.source}: {counted(len(scores), 'score')} {kind}"


def _spread(table: Table, options: Options) -> list[Check]:
    """Warnings on scores that are right in form but odd."""
    scores, _ = columns.scores_of(table, options)
    found = []
    flat = scores if scores.ndim == 1 else scores[:, 0]
    distinct = len(np.unique(flat[~np.isnan(flat)]))
    if distinct == 1 and len(flat) > 1:
        found.append(f"all scores are {flat[0]:g}: they distinguish nothing")
    elif distinct < FEW_VALUES * len(flat) and scores.ndim == 1 and options.kind != "number":
        found.append(
            f"only {distinct} distinct scores in {counted(len(flat), 'trial')}: were they rounded? "
            f"tied trials are accepted or rejected together"
        )
    if options.kind == "llr" and flat.min(initial=0.0) >= 0:
        found.append(f"{columns.NONE_BELOW}: are they posteriors or plain scores?")
    return [Check("spread", "warning", f"{table.source}: {text}") for text in found]


def _labels(
    table: Table,
    options: Options,
    name: str,
    key: Table | None,
    metadata: Sequence[tuple[str, Table]],
) -> str:
    trials = load(table, options, name, key, metadata)
    check_classes(trials)
    if not trials.classes:
        return f"{name}: {counted(len(trials), 'trial')} with true numbers"
    counts = np.bincount(trials.labels, minlength=len(trials.classes))
    classes = zip(counts, trials.classes, strict=True)
    return f"{name}: {first_five(f'{n} {c}' for n, c in classes)}"


def checks_of_trials(
    source: Source, reader: Reader, study: Study, trials: str | None
) -> list[Check]:
    """All checks of a list of scores; InputError of trials, key or metadata that cannot be read."""
    wanted = None if trials is None else reader.table(trials, study.data.key_format)
    key, metadata = reader.joined(source.data)
    try:
        table = one_filter(reader.table(source.file, source.data.input_format), source.data)
        # A list of scores whose format does not state its type is checked as plain scores.
        options = options_of(source.data, table, otherwise="score")
    except TruecostError as error:
        return [Check("file", "error", str(error))]
    stated = bool(source.data.type or table.kind)
    return validate(
        table, options, trials=wanted, key=key, metadata=metadata, name=source.name, stated=stated
    )
