"""Tables of a search: what each query gets by itself, and its alignment.

    language,file,channel,termid,term,ref_bt,ref_et,sys_bt,sys_et,sys_score,sys_decision,alignment

A row is a detection, a target that nothing goes with, or both. `alignment` says what it counts as:

- `CORR`: a target and a YES;
- `MISS`: a target and a NO (with the times of both), or a target alone;
- `FA`: a YES alone;
- `CORR!DET`: a NO alone.

In segment and document units the times of a target are those of its segment or document, and
detections that do not count have no row.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.application import Application
from truecost.core.measure import Array, share
from truecost.errors import UsageError
from truecost.names import real
from truecost.study.config import Study
from truecost.study.outcome import Outcome, Part
from truecost.tasks.terms.counting import Counted
from truecost.tasks.terms.entropy import prior_entropy
from truecost.tasks.terms.options import TermsScoring
from truecost.tasks.terms.pooling import TermSweep
from truecost.tasks.terms.records import Search

FORMATS = ("csv", "tsv", "parquet", "ndjson")


def tables_writer(study: Study, wanted: Mapping[str, str]) -> Callable[[Outcome], None] | None:
    """The writer of the requested tables from an outcome; None if there are none."""
    for option, path in wanted.items():
        _check_table(option, path, study)
    if len({real(path) for path in wanted.values()}) < len(wanted):
        raise UsageError("--alignment and --per-query name one file: give each its own")
    return partial(_write, wanted=wanted) if wanted else None


def _check_table(option: str, path: str, study: Study) -> None:
    """Refuse a table that cannot be written, or would take the place of a file that is read."""
    from truecost.formats.declared import WRITTEN, by_ending
    from truecost.formats.writers import check_target
    from truecost.study.paths import files_of_study

    name = f"--{option.replace('_', '-')}"
    if by_ending(path, WRITTEN) not in FORMATS:
        raise UsageError(
            f"{name} {path}: the ending is not that of a table: name a file that ends in "
            f"{', '.join(f'.{kind}' for kind in FORMATS)}"
        )
    if Path(path).is_dir():
        raise UsageError(f"{name} {path}: it is a folder: name a file in it")
    check_target(path, files_of_study(study), force=True)


def _write(outcome: Outcome, wanted: Mapping[str, str]) -> None:
    """The tables that were asked for, all of them or none."""
    from truecost.formats import Table
    from truecost.formats.publishing import publish
    from truecost.formats.writers import content_of

    frames = {"alignment": alignment_frame, "per_query": query_frame}
    made = {wanted[name]: frame(outcome) for name, frame in frames.items() if name in wanted}
    contents = {path: content_of(Table(path, frame), path) for path, frame in made.items()}
    publish({real(path): content for path, content in contents.items()})


def per_query(
    search: Search, application: Application, how: TermsScoring | None = None
) -> pl.DataFrame:
    """Table of all queries, with the counts and values of each query.

    Parameters
    ----------
    search : Search
        Aligned detections of a system.
    application : Application
        Costs and prior.
    how : TermsScoring, optional
        Settings of the scoring. Default: ``TermsScoring()``.

    Returns
    -------
    polars.DataFrame
        A row for each query. If a query has no targets, the columns from ``p_miss`` to ``cnxe`` are
        null, except ``lowest``. Columns:

        - ``query``, ``text``: id and text of the query;
        - ``targets``: number of targets;
        - ``correct``, ``missed``: targets that were accepted, and all other targets;
        - ``found``: targets aligned with a detection, accepted or not;
        - ``false_alarms``: accepted detections without a target;
        - ``detections``: number of all detections;
        - ``p_miss``, ``p_fa``, ``twv``: miss rate, false-alarm rate and term-weighted value;
        - ``optimum``, ``threshold``: highest possible term-weighted value and its threshold
          (infinite if it is best to reject everything);
        - ``supremum``: share of the targets that were found;
        - ``average_precision``: average precision of the ranked detections;
        - ``lowest``: lowest submitted score;
        - ``cnxe``: normalised cross entropy;
        - attributes of the queries.

    Raises
    ------
    UsageError
        If the application has no costs of misses and false alarms.
    """
    how = how or TermsScoring()
    if application.costs is None:
        raise UsageError("give the costs of misses and false alarms, such as a preset")
    count, reference = Counted.from_search(search, application, how), search.reference
    known, compat = count.application, reference.compat
    queries, hit = reference.queries.height, search.is_target

    def number(rows: Array) -> Array:
        return np.bincount(search.query[rows], minlength=queries)

    targets = reference.targets_by_query
    correct, false = number(hit & search.accepted), number(~hit & search.accepted)
    others, p_miss = reference.trials - targets, share(targets - correct, targets)
    # A query all of whose trials are targets has none to raise a false alarm in.
    p_fa = np.where(others == 0, 0.0, share(false, others))
    there = targets > 0
    price = np.where(others == 0, 0.0, share(known.beta, others))
    gain, loss = (x[count.counts][None] for x in (share(1.0, targets), price))
    swept = TermSweep.alone(count.ranking)
    best, _, threshold = swept.each(gain, loss, "no-reject-all" not in compat)
    precise = swept.precisions(1, false_first="false-alarms-first" in compat)[0]

    def of_all(values: Array) -> Array:
        out = np.full(queries, np.nan)
        out[count.counts if count.search is not search else slice(None)] = values
        return np.where(there, out, np.nan)

    values = {
        "p_miss": p_miss,
        "p_fa": np.where(there, p_fa, np.nan),
        "twv": 1 - p_miss - known.beta * p_fa,
        "optimum": of_all(best[:, 0]),
        "threshold": of_all(threshold[:, 0]),
        "supremum": share(number(hit), targets),
        "average_precision": share(of_all(precise), targets),
        "lowest": search.lowest_by_query,
        "cnxe": _entropies(search, known, count.floor),
    }
    counts = {
        "targets": targets,
        "correct": correct,
        "found": number(hit),
        "false_alarms": false,
        "missed": targets - correct,
        "detections": number(np.ones(len(search), bool)),
    }
    names = [c for c in ("query", "text") if c in reference.queries.columns]
    rest = [c for c in reference.queries.columns if c not in names]
    frame = pl.DataFrame({**counts, **values}).with_columns(pl.col(pl.Float64).fill_nan(None))
    clash = {c: f"{c}_" for c in rest if c in frame.columns}
    own = reference.queries.select(rest).rename(clash)
    return pl.concat([reference.queries.select(names), frame, own], how="horizontal")


def _entropies(search: Search, application: Application, floor: float) -> Array:
    """Cnxe of each query by itself (Rodriguez-Fuentes & Penagarikano 2013, Eq. 37-43 for one
    query).
    """
    queries, logit = search.reference.queries.height, -application.threshold
    targets = search.reference.targets_by_query
    others = search.reference.trials - targets
    right, prior = search.is_target, application.effective_prior
    found = np.zeros(queries)
    with np.errstate(invalid="ignore"):
        for mask, whole, sign, weight in (
            (right, targets, -1.0, prior),
            (~right, others, 1.0, 1 - prior),
        ):
            of, z = search.query[mask], sign * (search.score[mask] + logit)
            cost = np.bincount(of, np.logaddexp(0, z), queries)
            rest = whole - np.bincount(of, minlength=queries)
            missing = np.where(rest > 0, rest * np.logaddexp(0, sign * (floor + logit)), 0.0)
            found += weight * share(cost + missing, np.where(rest >= 0, whole, 0))
    return found / prior_entropy(prior)


COUNTS_AS = ("CORR!DET", "FA", "MISS", "CORR")  # by target (0, 1) and YES (0, 1)
DECISIONS = ("NO", "YES")
COLUMNS = (
    *("language", "file", "channel", "termid", "term", "ref_bt", "ref_et"),
    *("sys_bt", "sys_et", "sys_score", "sys_decision", "alignment"),
)
DIGITS = 6  # of seconds: sums of decimals end in them
Codes = npt.NDArray[np.int32] | Array | pl.Series


def alignment_of(search: Search) -> pl.DataFrame:
    """Table of all detections and targets of a system, with their alignment.

    Returns
    -------
    polars.DataFrame
        A row for each detection (with its target, if it has one) and for each target without a
        detection. Rows are sorted by query, file, channel and time. Columns:

        - ``language``: language of the queries;
        - ``file``, ``channel``: audio file and channel;
        - ``termid``, ``term``: id and text of the query;
        - ``ref_bt``, ``ref_et``: start and end of the target in seconds, null without a target;
        - ``sys_bt``, ``sys_et``: start and end of the detection in seconds, null without a
          detection;
        - ``sys_score``, ``sys_decision``: score and decision (YES, NO), null without a detection;
        - ``alignment``: ``CORR`` (accepted target), ``MISS`` (target that was rejected or not
          detected), ``FA`` (accepted detection without a target) or ``CORR!DET`` (rejected
          detection without a target).
    """
    reference, rows = search.reference, _rows(search)
    targets, row, sought = reference.targets, rows["row"], rows["target"]
    accepted = pl.Series(search.accepted).gather(row).cast(pl.Int32)
    counts_as = 2 * sought.is_not_null().cast(pl.Int32) + accepted.fill_null(0)
    ends = search.start + search.duration
    columns = (
        _categories([reference.language], np.zeros(rows.height, np.int32)),
        _categories(reference.documents["document"], rows["place"]),
        _categories(_channels(search), rows["channel"]),
        _categories(reference.queries["query"], rows["query"]),
        _categories(_texts(reference.queries), rows["query"]),
        *(targets[name].gather(sought).round(DIGITS) for name in ("start", "end")),
        *(pl.Series(at).gather(row).round(DIGITS) for at in (search.start, ends)),
        pl.Series(search.score).gather(row),
        _categories(DECISIONS, accepted),
        _categories(COUNTS_AS, counts_as),
    )
    return pl.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


def _categories(texts: Sequence[str] | pl.Series, codes: Codes) -> pl.Series:
    """The text of each code, as categories: a list has millions of rows."""
    return pl.Series(texts, dtype=pl.String).cast(pl.Categorical).gather(codes)


def _rows(search: Search) -> pl.DataFrame:
    """Sorted rows of numbers: of queries, documents, channels, targets and detections.

    There is a row for each detection and for each target that is left alone; null stands for no
    target and for no detection.
    """
    reference, targets = search.reference, search.reference.targets
    alone = np.flatnonzero(~search.found)
    row = pl.int_range(len(search), dtype=pl.Int32, eager=True).extend_constant(None, len(alone))
    channels = _channels(search).to_numpy()
    here, there = (np.searchsorted(channels, [*c]) for c in (search.channels, targets["channel"]))
    rows = pl.DataFrame(
        {
            "query": np.append(search.query, targets["query"].gather(alone)),
            "place": np.append(search.place, targets["place"].gather(alone)),
            "channel": np.append(here[search.channel], there[alone]).astype(np.int32),
            "time": np.append(search.start, np.zeros(len(alone))),
            "target": pl.Series(np.append(search.target, alone).astype(np.int32)).replace(-1, None),
            "row": row,
        }
    )
    file = reference.documents["document"].rle_id().gather(rows["place"])  # of several sources
    sought = targets["start"].gather(rows["target"])
    own = pl.when(sought.is_null()).then("time").otherwise(sought)
    return rows.sort("query", file, "channel", own, "time", "row").drop("time")


def _channels(search: Search) -> pl.Series:
    """The channels of detections and targets, sorted."""
    listed = pl.Series(search.channels, dtype=pl.String)
    return pl.concat([listed, search.reference.targets["channel"]]).unique().sort()


def _texts(queries: pl.DataFrame) -> pl.Series:
    """The text of each query, empty where it has none."""
    if "text" not in queries.columns:
        return pl.Series([""] * queries.height, dtype=pl.String)
    return queries["text"].fill_null("")


def alignment_frame(outcome: Outcome) -> pl.DataFrame:
    """The pairs of detections and occurrences of an outcome, system by system.

    The columns of `alignment_of`, after `collection` and `system` where there are several.
    """
    found = {
        (part.dims.get("collection", ""), s.name): s
        for part in outcome.parts
        for s in searches_in(part)
    }
    sizes = (len(set(names)) for names in zip(*found, strict=True))
    several = {name: size > 1 for name, size in zip(("collection", "system"), sizes, strict=True)}
    return pl.concat(
        _headed(alignment_of(search), {"collection": collection, "system": name}, several)
        for (collection, name), search in found.items()
    )


def query_frame(outcome: Outcome) -> pl.DataFrame:
    """The result of each query of an outcome.

    The columns of `per_query`, after `collection`, `application` and `system` where there are
    several.
    """
    names = ("collection", "application")
    several = {n: any(n in part.dims for part in outcome.parts) for n in names}
    several["system"] = (
        len({search.name for part in outcome.parts for search in searches_in(part)}) > 1
    )
    return pl.concat(
        _headed(
            per_query(search, scoring.application, scoring.chosen(TermsScoring)),
            {**part.dims, "system": search.name},
            several,
        )
        for part in outcome.parts
        for search in searches_in(part)
        for scoring in [part.scoring[search.name]]
    )


def searches_in(part: Part) -> list[Search]:
    """The searches of a part."""
    return [system for system in part.systems if isinstance(system, Search)]


def _headed(
    frame: pl.DataFrame, about: Mapping[str, str], several: Mapping[str, bool]
) -> pl.DataFrame:
    """A table after what it is about, where there are several of it."""
    names = (name for name, more in several.items() if more)
    return frame.select(*(pl.lit(about[name]).alias(name) for name in names), pl.all())
