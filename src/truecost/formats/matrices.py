"""Score matrices of continual learning, in JSON and with the names that its tools give.

| what a file holds | where it comes from |
|---|---|
| `[[0.9, 0.1], [0.7, 0.8]]` | rows are versions, columns the tests of the same tasks in turn |
| `[[[0.9, 0.1], ...], ...]` | the same for each seed |
| `{"0": [[...]], "1": [[...]]}` | the same by its seed |
| `{"acc_matrix": [[...]], "seed": 0}` | the same under a name, beside single values |
| `{"columns": [...], "index": [...], "data": [[...]]}` | pandas, `orient="split"` |
| `[{"Top1_Acc_Exp/.../Task000/Exp000": 0.9, ...}, ...]` | Avalanche: after each experience |
| `{"Top1_Acc_Exp/.../Exp000": [[steps], [values]], ...}` | Avalanche: `get_all_metrics()` |
| a list of such results, or an object of them by seed | Avalanche: a run for each seed |
| .npy, .npz | an array of numpy: (version, test), or (seed, version, test) |

Source: github.com/ContinualAI/avalanche, `avalanche/evaluation/metric_utils.py`
(`default_metric_name_template`: `METRIC/PHASE_phase/STREAM_stream/TaskNNN/ExpNNN`, or without task
and experience) and `avalanche/logging/csv_logger.py` (`eval_results.csv`, which has to be mapped).

A matrix becomes a table with a row for each version and a column for each time; results of
Avalanche one with a row for each version and experience, and a column for each metric. Versions and
times without names are counted from 0, as in `Exp000`; where there is one version more than there
are times, the first is the initial one.
"""

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from truecost.errors import InputError, counted, first_five, shown_as
from truecost.formats import text
from truecost.formats.opening import json_of
from truecost.formats.reading import joined
from truecost.formats.table import Table, place_of

AVALANCHE = re.compile(r"([^/]+)/[^/]+_phase/([^/]+)_stream/(?:Task\d+/)?Exp(\d+)")
NAMED = re.compile(r"([A-Za-z][A-Za-z ]*?)[ _-]?(\d+)")  # Exp0, task_3, Experience 12
SEED = re.compile(r"(?:(?:seed|run)[ _-]?)?(\d+)", re.IGNORECASE)
BESIDE = ("seed", "system")  # columns that are no test
UNNAMED = ("", "Unnamed: 0", "index", "experience", "trained_on")  # the column of the versions
HOW = (
    "write a list of rows, [[0.9, 0.1], [0.7, 0.8]]: a row for each version, with a number or "
    "null for each test. Several runs are a list of such lists, or an object with a list for "
    "each seed. The output of Avalanche is read too"
)


def read_matrix(data: bytes, source: str) -> Table:
    """A table of the scores of a JSON file, or of arrays of numpy."""
    if data.startswith((b"\x93NUMPY", b"PK\x03\x04")):
        return _table(_arrays_in(data, source), source)
    try:
        found = json_of(text.decoded(data, source))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: this is not JSON ({text.caught(error)}); {HOW}") from error
    return _table(found, source)


def in_memory(given: Any) -> Any:
    """Tables from matrices in memory, like those of a file: from an array, a tensor, lists of
    numbers, results of Avalanche, or a mapping of such values. Any other object is returned
    unchanged.
    """
    found = _listed(given)
    if _is_run(found) or _runs_in(found) is not None:
        return _table(found, "data")
    if isinstance(given, dict) and given:
        tables = {name: in_memory(one) for name, one in given.items()}
        return tables if all(isinstance(one, Table) for one in tables.values()) else given
    return given


def of_seeds(tables: Sequence[Table], source: str) -> Table:
    """One table from the files of a system: each file is a run with the file's name, unless the
    files name their runs.

    InputError where only some of them have a column `seed`.
    """
    named = [table.source for table in tables if "seed" in table.columns]
    if named and len(named) < len(tables):
        raise InputError(
            f"{source}: {first_five([Path(name).name for name in named])} "
            f"{'has' if len(named) == 1 else 'have'} a column seed, but the other files do not: "
            "give all files this column, or none"
        )
    names = [Path(table.source).name.removesuffix(".gz") for table in tables]
    seeds = [Path(name).stem for name in names]
    if not named:
        numbers = _numbered(seeds) or {}
        tables = [
            replace(table, frame=table.frame.with_columns(seed=pl.lit(numbers.get(seed, seed))))
            for table, seed in zip(tables, seeds, strict=True)
        ]
    return joined(tables, source)


def _table(found: Any, source: str) -> Table:
    """The table of a file or an object in memory."""
    runs = _runs_in(found)
    if runs is None:
        frame = _of_run(found, source)
    else:
        frames = {seed: _of_run(run, source) for seed, run in runs.items()}
        seeds = [frame.with_columns(seed=pl.lit(seed)) for seed, frame in frames.items()]
        frame = pl.concat(seeds, how="diagonal")
    return Table(source, frame, noun="row", format="matrix", layout=f"matrix: {_shape(frame)}")


def _arrays_in(data: bytes, source: str) -> Any:
    """The only array of a file of numpy, or its arrays by name, as lists."""
    import numpy as np

    try:
        found = np.load(io.BytesIO(data), allow_pickle=False)
        return _listed(found if isinstance(found, np.ndarray) else dict(found))
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{source}: this is not an array of numbers ({text.caught(error)}); {HOW}"
        ) from error


def _listed(given: Any) -> Any:
    """Arrays, tensors and tuples as lists, also within mappings and lists."""
    if hasattr(given, "tolist") and hasattr(given, "ndim"):
        return given.tolist()
    if isinstance(given, dict):
        return {key: _listed(one) for key, one in given.items()}
    return [_listed(one) for one in given] if isinstance(given, list | tuple) else given


def _runs_in(found: Any) -> dict[str, Any] | None:
    """The runs in a list or in an object by seed, perhaps under a name; None without any."""
    if isinstance(found, list) and found and all(map(_is_run, found)):
        return {str(k): run for k, run in enumerate(found)}
    if not isinstance(found, dict) or _is_run(found):
        return None
    seeds = {key: SEED.fullmatch(str(key)) for key in found}
    if found and all(map(_is_run, found.values())) and all(seeds.values()):
        return {told[1]: found[key] for key, told in seeds.items() if told}
    named = [_runs_in(one) for one in found.values() if isinstance(one, list)]
    several = any(map(_is_matrix, found.values()))
    return named[0] if len(named) == 1 and not several else None


def _is_run(found: Any) -> bool:
    """Whether an object is the result of one run: a matrix of numbers, or results of Avalanche."""
    if _is_matrix(found):
        return all(_is_score(cell) for row in found for cell in row)
    if isinstance(found, dict):  # get_all_metrics()
        return any(AVALANCHE.fullmatch(str(k)) and isinstance(of, list) for k, of in found.items())
    rows = found if isinstance(found, list) and found else [None]
    return all(isinstance(row, dict) and any(map(_is_result, row.items())) for row in rows)


def _is_result(item: tuple[Any, Any]) -> bool:
    """Whether a key and its value are a result of Avalanche."""
    return bool(AVALANCHE.fullmatch(str(item[0]))) and _is_score(item[1])


def _shape(frame: pl.DataFrame) -> str:
    """The size of a table in words."""
    versions = counted(frame["version"].n_unique(), "version")
    own = ("version", "learnt", "time", "seed")
    tests = [name for name in frame.columns if name not in own]
    runs = f"{counted(frame['seed'].n_unique(), 'seed')}, " if "seed" in frame.columns else ""
    if "time" in frame.columns:
        times = counted(frame["time"].n_unique(), "experience")
        return f"{runs}{versions}, {times}, {', '.join(tests)}"
    return f"{runs}{versions}, {counted(len(tests), 'test')}"


def _of_run(found: Any, source: str) -> pl.DataFrame:
    """The scores of one run."""
    frame = _of_avalanche(found, source)
    return _of_rows(*_rows_of(found, source), source) if frame is None else frame


def _rows_of(found: Any, source: str) -> tuple[list[Any], list[str] | None, list[str] | None]:
    """Rows of a matrix, with the names of its columns and rows where they are given."""
    if isinstance(found, dict) and _is_split(found):
        names = [str(name) for name in found["columns"]]
        return found["data"], names, [str(name) for name in found.get("index", [])] or None
    if isinstance(found, dict):
        several = {k: v for k, v in found.items() if _is_matrix(v)}
        if len(several) > 1:
            raise InputError(
                f"{source}: contains {len(several)} matrices, {first_five(several)}: keep one"
            )
        nested = [k for k, v in found.items() if isinstance(v, dict)]
        if nested and not several:
            raise InputError(
                f"{source}: objects by name ({first_five(nested)}) are ambiguous: versions and "
                f"tests cannot be distinguished: {HOW}"
            )
        found = next(iter(several.values()), None)
    if not _is_matrix(found):
        raise InputError(f"{source}: this is not a score matrix: {HOW}")
    return found, None, None


def _is_split(found: dict[str, Any]) -> bool:
    """Whether an object is a pandas frame in the form `orient="split"`."""
    names = isinstance(found.get("columns"), list) and isinstance(found.get("index", []), list)
    return names and _is_matrix(found.get("data"))


def _is_matrix(given: Any) -> bool:
    """Whether an object is a list of lists."""
    rows = isinstance(given, list) and bool(given) and all(isinstance(row, list) for row in given)
    return rows and any(given) and not any(isinstance(cell, list) for row in given for cell in row)


def _of_rows(
    rows: list[Any], columns: list[str] | None, index: list[str] | None, source: str
) -> pl.DataFrame:
    """A wide table of the rows of a matrix."""
    width = max(len(row) for row in rows)
    if any(len(row) != width for row in rows) and columns is None:
        rows = [[*row, *[None] * (width - len(row))] for row in rows]  # a triangle
    names = columns or [str(k) for k in range(width)]
    bad = [(k, cell) for k, row in enumerate(rows) for cell in row if not _is_score(cell)]
    if bad:
        raise InputError(f"{source}: row {bad[0][0]} contains {bad[0][1]!r}: use numbers and null")
    if len(names) != width or (index is not None and len(index) != len(rows)):
        raise InputError(
            f"{source}: the numbers of names differ from the {len(rows)} rows of {width} scores"
        )
    versions = index or _in_turn(len(rows), names)
    cells = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    scores = {name: pl.Series(of, dtype=pl.Float64, strict=False) for name, of in cells.items()}
    table = tidied(Table(source, pl.DataFrame({"version": versions, **scores})))
    return table.frame if columns or index else _learnt_by_name(table.frame)


def _is_score(cell: Any) -> bool:
    return cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool))


def _in_turn(versions: int, times: Sequence[str]) -> list[str]:
    """Names of versions that learnt the tasks of the tests one after the other."""
    before = ["initial"] * (versions == len(times) + 1)
    later = [str(k) for k in range(len(times), versions - len(before))]
    return [*before, *times[: versions - len(before)], *later]


def _of_avalanche(found: Any, source: str) -> pl.DataFrame | None:
    """A long table of results of Avalanche; None for any other object."""
    if isinstance(found, dict) and any(map(AVALANCHE.fullmatch, map(str, found))):
        named = {str(key): of for key, of in found.items() if AVALANCHE.fullmatch(str(key))}
        series = {key: _values(key, of, source) for key, of in named.items()}
        last = max((len(of) for of in series.values()), default=0)
        found = [{key: of[k] for key, of in series.items() if k < len(of)} for k in range(last)]
    if not (isinstance(found, list) and found and all(isinstance(one, dict) for one in found)):
        return None
    cells: dict[tuple[int, int], dict[str, float]] = {}
    for row, results in enumerate(found):
        for key, value in results.items():
            told = AVALANCHE.fullmatch(str(key))
            if told is None or told[2] == "train" or not _is_score(value):
                continue
            name = told[1] if told[2] == "test" else f"{told[1]}/{told[2]}"
            cells.setdefault((row, int(told[3])), {})[name] = value
    if not cells:
        return None
    times = sorted({time for _, time in cells})
    versions = _in_turn(len(found), [*map(str, times)])
    metrics = dict.fromkeys(name for values in cells.values() for name in values)
    only = {next(iter(metrics)): "score"} if len(metrics) == 1 else {}
    rows: dict[str, list[Any]] = {
        "version": [versions[row] for row, _ in cells],
        "time": [str(time) for _, time in cells],
        **{only.get(m, m): [values.get(m) for values in cells.values()] for m in metrics},
    }
    frame = pl.DataFrame({name: pl.Series(of, strict=False) for name, of in rows.items()})
    return _learnt_by_name(frame)


def _values(key: str, given: Any, source: str) -> list[Any]:
    """The values of a metric, with or without a list of steps before them."""
    if isinstance(given, list) and len(given) == 2 and all(isinstance(one, list) for one in given):
        return list(given[1])
    if isinstance(given, list):
        return given
    if _is_score(given):
        return [given]
    raise InputError(f"{source}: {key} is {shown_as(given)}, not a list: {HOW}")


def tidied(table: Table) -> Table:
    """A wide table in the form of a matrix, if its column of versions has no name and its versions
    and times are called `Exp0`, `Task 1` and so on: these become numbers, and a column `version`.

    Any other table is returned unchanged.
    """
    names = table.frame.columns
    first = names[0] if names else ""
    frame = table.frame
    if "version" not in names and first in UNNAMED:
        tests = [name for name in names[1:] if name not in BESIDE]
        if not all(place_of(name) or NAMED.fullmatch(name) for name in tests):
            return table
        frame = frame.rename({first: "version"})
    if "version" not in frame.columns or "time" in frame.columns:
        return replace(table, frame=frame)
    times = _numbered([name for name in frame.columns if name not in ("version", *BESIDE)])
    if times is None:
        return replace(table, frame=frame)
    versions = _numbered(frame["version"].cast(pl.String).to_list())
    frame = frame.rename(times)
    if versions is not None:
        frame = frame.with_columns(pl.col("version").cast(pl.String).replace(versions))
    return replace(table, frame=_learnt_by_name(frame))


def _numbered(names: Sequence[str]) -> dict[str, str] | None:
    """The number in each name; None unless all names are one word with a number each."""
    found = {name: NAMED.fullmatch(name) for name in names}
    words = {told[1].lower() if told else "" for told in found.values()}
    numbers = {name: str(int(told[2])) for name, told in found.items() if told}
    alike = (
        len(words) == 1 and len(numbers) == len(found) and len({*numbers.values()}) == len(found)
    )
    return numbers if alike else None


def _learnt_by_name(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame whose versions are named after the tasks that they learnt; 0 is the first task."""
    if "learnt" in frame.columns:
        return frame
    at = pl.col("version").cast(pl.String)
    learnt = pl.when(at != "initial").then(at).alias("learnt")
    return frame.select("version", learnt, pl.exclude("version"))
