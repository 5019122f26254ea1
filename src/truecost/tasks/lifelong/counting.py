"""From event logs to `Lifelong`: what people did, and every version on every test set, counted in
every state (`Counter`).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from truecost.core.measure import Array
from truecost.corrections import Corrector, corrector
from truecost.corrections.texts import apart, region_of
from truecost.errors import InputError, TruecostError, counted
from truecost.formats.event_rows import VERDICTS
from truecost.formats.events import Labels
from truecost.outputs.event_logs import Given, guess_of, opened, without_faults
from truecost.person.timing import timing_of
from truecost.tasks.lifelong.cells import Axis, interleaved
from truecost.tasks.lifelong.kinds import Kind, kind_of
from truecost.tasks.lifelong.log_events import (
    ANSWER,
    SAID,
    experts_of,
    findings_of,
    offline_of,
    spent_of,
)
from truecost.tasks.lifelong.log_runs import (
    Distinct,
    Items,
    LogRuns,
    came_of,
    items_of,
    joined_runs,
    outputs_of,
)
from truecost.tasks.lifelong.records import STATES, Lifelong, Scored, no_effort

BASE, ADAPTED, IMPAIRED, CORRECTED = range(len(STATES))
REGIONS = "diarization"  # the kind whose outputs have parts
KEY = ["seed", "version", "item"]


@dataclass(frozen=True, eq=False)
class Help:
    """The help on one of the two sets.

    `parts` has `seed`, `version` (its place), `item` and `parts`: those that were put right,
    sorted. `took` has these keys, the `corrections`, and the `seconds`, `words` and `actions` that
    they took (null where one was not measured). `only_wrong` answers said only that something is
    wrong, `other` ones are not what is right.
    """

    parts: pl.DataFrame
    took: pl.DataFrame
    only_wrong: int
    other: int


OfSet = tuple[Items, pl.DataFrame, Help | None]  # items, outputs and help of one of the two sets


def help_of(told: LogRuns, where: str, items: Items, kind: str) -> Help | None:
    """The help on the lifelong set (`stream`) or the test set (`test`); None for no help."""
    given = _answers(told, where)
    if not given.height:
        return None
    rows = items.frame.select("id").with_row_index("item").cast({"item": pl.Int64})
    given = given.join(rows, on="id", how="left", maintain_order="left")
    _refuse_unknown(told, given, where)
    _refuse_parts(told, given, kind)
    given = _placed(told, given, where, items)
    pairs = [(k, text) for k, several in enumerate(items.right) for text in {*several}]
    right = pl.DataFrame(pairs, schema={"item": pl.Int64, "right": pl.String}, orient="row")
    whole = given.filter(pl.col("label").is_not_null() & (pl.col("part") == ""))
    other = whole.join(right, left_on=["item", "label"], right_on=["item", "right"], how="anti")
    parts = given.filter(pl.col("verdict").is_null() | (pl.col("verdict") == VERDICTS[0]))
    return Help(
        parts.group_by(KEY).agg(parts=pl.col("part").unique().sort()).sort(KEY),
        _answer_effort(given),
        int((given["verdict"] == VERDICTS[1]).sum()),
        other.height,
    )


def _answers(told: LogRuns, where: str) -> pl.DataFrame:
    """Answers that say something; those that were refused do not help."""
    says = pl.col("label").is_not_null() | pl.col("verdict").is_not_null()
    given = told.events.filter(ANSWER & (pl.col("where") == where) & says)
    return given.with_columns(pl.col("part").fill_null(""))


def _refuse_unknown(told: LogRuns, given: pl.DataFrame, where: str) -> None:
    lost = given.filter(pl.col("item").is_null())
    if lost.height:
        raise InputError(
            f"{told.where(lost)}: an answer about item {lost['id'][0]!r}, which is not "
            f"predicted on the {SAID[where].removeprefix('of the ')} "
            f"({counted(lost.height, 'such answer')})"
        )


def _refuse_parts(told: LogRuns, given: pl.DataFrame, kind: str) -> None:
    """Parts that there cannot be, or that lie over each other."""
    named = given.filter(pl.col("part") != "")
    if kind != REGIONS:
        if named.height:
            raise InputError(
                f"{told.where(named)}: the answer about item {named['id'][0]!r} is about the part "
                f"{named['part'][0]!r}; {kind} are corrected as a whole, only diarizations have "
                f"parts"
            )
        return
    for k, part in enumerate(named["part"]):
        try:
            region_of(part)
        except TruecostError as error:
            raise InputError(f"{told.where(named, k)}, item {named['id'][k]!r}: {error}") from error


def _placed(told: LogRuns, given: pl.DataFrame, where: str, items: Items) -> pl.DataFrame:
    """Answers with the place of the version that they count for."""
    if where == "stream":
        return given.with_columns(version=came_of(items, told, given["item"]))
    asked = given.rename({"version": "said"})
    return asked.join(told.speaks, on=["seed", "said"], how="inner", maintain_order="left")


def _answer_effort(given: pl.DataFrame) -> pl.DataFrame:
    """The effort of the answers about each item."""
    took = [
        pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum())
        for name in ("seconds", "words", "actions")
    ]
    found = given.rename({"active_seconds": "seconds"}).group_by(KEY)
    return found.agg(pl.len().cast(pl.Int64).alias("corrections"), *took).sort(KEY)


def effort_of(
    helped: Help,
    outputs: pl.DataFrame,
    right: Sequence[tuple[str, ...]],
    by: Corrector,
) -> pl.DataFrame:
    """The effort on each output of a set, the effort of correcting all, and the remaining errors.

    A row for each output: `item`, `version`, `seed` and the columns of `EFFORT`.
    """
    base, item = outputs["base"], outputs["item"]
    said = Distinct.from_rows(base, item, right)
    whole = [by.parts(text, of) for text, of in zip(said.texts, said.right, strict=True)]
    final = Distinct.from_rows(
        outputs.select(pl.coalesce("adapted", "base")).to_series(), item, right
    )
    wrong = [not by.is_right(text, of) for text, of in zip(final.texts, final.right, strict=True)]
    every = {
        "all_parts": [len(parts) for parts in whole],
        "all_words": [sum(part.words for part in parts) for parts in whole],
        "all_actions": [sum(part.actions for part in parts) for parts in whole],
    }
    found = outputs.select("item", "version", "seed").with_columns(
        *(pl.Series(name, np.array(of, np.int64)[said.place]) for name, of in every.items()),
        pl.Series("wrong", np.array(wrong, np.int64)[final.place]),
    )
    joined = found.join(helped.took, on=KEY, how="left", maintain_order="left")
    idle = pl.col("corrections").is_null()
    # Words and actions that a log does not tell are those of all that was wrong.
    return joined.select(
        *("item", "version", "seed"),
        pl.col("corrections").fill_null(0),
        pl.when(idle).then(0.0).otherwise(pl.col("seconds")).alias("seconds"),
        pl.when(idle).then(0).otherwise(pl.coalesce("words", "all_words")).alias("words"),
        pl.when(idle).then(0).otherwise(pl.coalesce("actions", "all_actions")).alias("actions"),
        *("all_parts", "all_words", "wrong"),
    )


@dataclass(frozen=True, eq=False)
class Counter:
    """The choices by which the outputs of a set are counted: options of the kind, prepared, and
    parts of the evidence.
    """

    kind: Kind
    options: Any
    parts: tuple[str, ...]

    def states(
        self, outputs: pl.DataFrame, right: Sequence[tuple[str, ...]], mended: pl.DataFrame | None
    ) -> tuple[pl.DataFrame, dict[str, dict[str, Array]]]:
        """The rows of a set (`item`, `version`, `state`, `seed`) in every state, and statistics of
        each part.

        Nothing can be impaired where it is not said what was put right (`mended`).
        """
        rows = outputs.height
        said = Distinct.from_rows(outputs["base"], outputs["item"], right)
        base = self._counted(said)
        found = [(BASE, base)]
        again = mended is not None or outputs["adapted"].null_count() < rows
        if again:
            final = outputs.select(pl.coalesce("adapted", "base")).to_series()
            after = Distinct.from_rows(final, outputs["item"], right)
            found.append((ADAPTED, self._counted(after)))
            both = self._exchanged(outputs, right, base, mended)
            found += [(IMPAIRED, both[0]), (CORRECTED, both[1])]
        placed = pl.concat(
            outputs.select("item", "version", pl.lit(state, pl.Int64).alias("state"), "seed")
            for state, _ in found
        )
        statistics = {
            part: {name: np.concatenate([of[part][name] for _, of in found]) for name in base[part]}
            for part in self.parts
        }
        return placed, statistics

    def _counted(self, of: Distinct) -> dict[str, dict[str, Array]]:
        """The statistics of each row in each part, counted once."""
        counts = {p: self.kind.count(of.texts, of.right, self.options, p) for p in self.parts}
        return {p: {n: v[of.place] for n, v in found.items()} for p, found in counts.items()}

    def _exchanged(
        self,
        outputs: pl.DataFrame,
        right: Sequence[tuple[str, ...]],
        base: Mapping[str, Mapping[str, Array]],
        put: pl.DataFrame | None,
    ) -> tuple[dict[str, dict[str, Array]], dict[str, dict[str, Array]]]:
        """The statistics with what was put right made strictly wrong, and in place."""
        impaired, corrected = ({part: {**of} for part, of in base.items()} for _ in range(2))
        if put is None or not put.height:
            return impaired, corrected
        told = outputs.with_row_index("row").join(put, on=KEY, how="inner").sort("row")
        rows = told["row"].to_numpy()
        mended = [tuple(parts) for parts in told["parts"]]
        said = Distinct.from_rows(told["base"], told["item"], right, mended)
        for part in self.parts:
            both = self.kind.exchange(said.texts, said.right, said.mended, self.options, part)
            for state, of in zip((impaired, corrected), both, strict=True):
                for name, values in of.items():
                    state[part][name] = _replaced(state[part][name], rows, values[said.place])
        return impaired, corrected


def _replaced(values: Array, rows: Array, others: Array) -> Array:
    """Values with some rows replaced, of a type that holds both."""
    found = values.astype(np.result_type(values, others))
    found[rows] = others
    return found


def read_lifelong(
    logs: Given | Sequence[Given],
    kind: str | Kind,
    options: Any = None,
    *,
    labels: Labels | None = None,
    references: Sequence[Labels] = (),
    name: str = "system",
    about: Mapping[str, str] | None = None,
    parts: Collection[str] | None = None,
) -> Lifelong:
    r"""The record of one system over its life, from the event logs of its runs.

    Parameters
    ----------
    logs : str, Path or EventLog, or a sequence of these
        Event logs, one for each run, or folders of logs.
    options : object, optional
        Choices of the kind of output.
    labels : Labels, optional
        Right outputs: a table with `id` and `label`, whose further columns are for units and
        subsets. Default: the labels of the predictions.
    references : sequence of Labels
        Further right outputs of the items.
    about : mapping of str to str, optional
        Further dims of the rows: `strategy`.
    parts : collection of str, optional
        Parts of the evidence to count. Default: all parts of the kind.

    Examples
    --------
    Two classes, a version that learnt at time 1, and tests at times 0.5 and 2.

    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from truecost.tasks.lifelong.counting import read_lifelong
    >>> def said(id, t, batch, decision, label, **more):
    ...     return {"event": "predict", "phase": "pre", "score": 0.0, "id": id, "t": t,
    ...             "batch": batch, "decision": decision, "label": label, **more}
    >>> events = [
    ...     said("x", 1, 0, "cat", "dog", version=0),
    ...     {"event": "adapt", "batch": 0, "version": 1},
    ...     *(said(f"y{v}{j}"[0] + str(j), t, j, "cat", "cat", version=v, set="test")
    ...       for v in (0, 1) for j, t in ((0, 0.5), (1, 2)))]
    >>> path = Path(tempfile.mkdtemp()) / "events.jsonl"
    >>> _ = path.write_text("".join(json.dumps(event) + "\n" for event in events))
    >>> read_lifelong(path, "classes")
    <Lifelong 'system': 2 versions, 2 times, 2 items>
    """
    of_kind = kind if isinstance(kind, Kind) else kind_of(kind)
    chosen = of_kind.options() if options is None else options
    told = joined_runs([without_faults(log, findings_of(log), "lifelong") for log in opened(logs)])
    test = _read_set(told, "test", of_kind, labels, references)
    assert test is not None  # a log without test outputs is refused before
    stream = _read_set(told, "stream", of_kind, labels, references)
    sets = [one for one in (test, stream) if one is not None]
    said = [outputs[of].drop_nulls() for _, outputs, _ in sets for of in ("base", "adapted")]
    right = [known for items, *_ in sets for known in items.right]
    chosen = of_kind.prepared(chosen, pl.concat(said).unique().sort().to_list(), right)
    counter = Counter(of_kind, chosen, tuple(of_kind.parts if parts is None else parts))
    answers = pl.concat(log.frame.select("timing", "guess") for log in told.logs)
    return Lifelong(
        name,
        of_kind,
        tuple(map(str, told.versions)),
        told.learnt,
        told.seeds,
        _scored(test, counter),
        None if stream is None else _scored(stream, counter),
        offline_of(told.events, told.versions, of_kind.name),
        experts_of(told.events),
        dict(about or {}),
        signatures={part: of_kind.signature(chosen, part) for part in counter.parts},
        problems=tuple(dict.fromkeys((*told.problems, *_problems(told, sets)))),
        no_penalty=_no_penalty(test[2]),
        spent=spent_of(told.events, told.versions[-1], of_kind.name),
        timing=timing_of(answers),
        guess=guess_of(answers),
    )


def _read_set(
    told: LogRuns, where: str, kind: Kind, labels: Labels | None, references: Sequence[Labels]
) -> OfSet | None:
    """Items, outputs and help of one of the two sets; None where there are none."""
    items = items_of(told, where, labels, references)
    if items is None:
        return None
    helped = help_of(told, where, items, kind.name)
    if helped is not None:
        for item, parts in helped.parts.select("item", "parts").iter_rows():
            apart(parts, f"item {items.frame['id'][item]!r}")
    return items, outputs_of(told, where, items), helped


def _scored(of: OfSet, counter: Counter) -> Scored:
    """A set, counted."""
    items, outputs, helped = of
    rows, statistics = counter.states(
        outputs, items.right, None if helped is None else helped.parts
    )
    effort = no_effort()
    if helped is not None:
        effort = effort_of(helped, outputs, items.right, corrector(counter.kind.name))
    return Scored(items.times, items.at, items.frame, rows, statistics, effort, items.right)


def _problems(told: LogRuns, sets: Sequence[OfSet]) -> list[str]:
    """Warnings about the data."""
    said = [text for items, _, _ in sets for text in items.problems]
    other = sum(helped.other for _, _, helped in sets if helped is not None)
    if other:
        said.append(
            f"{counted(other, 'answer')} of the person differ from the reference: corrected items "
            f"count as right all the same"
        )
    test, learnt = sets[0][0], told.learnt[np.isfinite(told.learnt)]
    begun = Axis(tuple(f"{time:g}" for time in learnt), learnt, "number")
    return [*said, *interleaved(begun, Axis(test.times, test.at, "number"))]


def _no_penalty(helped: Help | None) -> str:
    """The reason why nothing can be penalised; empty when it can."""
    if helped is None or not helped.only_wrong:
        return ""
    return (
        f"{counted(helped.only_wrong, 'answer', 'give')} only a verdict without the right output: "
        f"the value of a correction is not known (Prokopalo et al. 2020, section 2.2)"
    )
