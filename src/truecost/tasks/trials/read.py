"""The trials of a study: what its files hold, read, joined and checked."""

from typing import TYPE_CHECKING

from truecost.errors import UsageError
from truecost.formats import Table
from truecost.names import POSTERIORS, ScoreType
from truecost.study.columns import Options
from truecost.study.reader import Reader
from truecost.study.tables import DataTable
from truecost.tasks.trials.loading import check_classes, load
from truecost.tasks.trials.records import Trials

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.study.settings import Source


def read(source: "Source", reader: Reader, study: "Study") -> Trials:
    """The checked trials of a source, of several classes; UsageError, InputError as `load` says."""
    del study
    found = read_trials(reader, source)
    check_classes(found)
    return found


def read_trials(reader: Reader, source: "Source") -> Trials:
    """The checked trials of a source; UsageError, InputError as `load` says."""
    data = source.data
    table = reader.table(source.file, data.input_format)
    reader.note(source.file, source.name, source.collection)
    options = options_of(data, table)
    found = load(table, options, source.name, *reader.joined(data, source.collection))
    reader.learn(data, **_facts(table, options, found))
    return found


def _facts(table: Table, options: Options, trials: Trials) -> dict[str, tuple[str, ...]]:
    """What the scores and the labels of trials are, as far as options depend on it."""
    found: dict[str, tuple[str, ...]] = {
        "truth": () if "soft" in options.columns else ("labels of classes",),
        "trials": ("targets and nontargets",) if trials.detection else (),
    }
    column = options.column("score", table) or ""
    if options.kind in POSTERIORS:
        several = "+" in column or column in table.matrices
        found["scores"] = ("one score a class",) if several else ()
    return found


def options_of(data: DataTable, table: Table, otherwise: ScoreType | None = None) -> Options:
    """The reader's options for one table.

    Parameters
    ----------
    otherwise : str, optional
        Score type where neither the data nor the format say one.

    Raises
    ------
    UsageError
        When neither the data nor the format say what the scores are.
    """
    kind = data.type or table.kind or otherwise
    if kind is None:
        from truecost.tasks.trials.labels import plausible_types

        types, why = plausible_types(table, data.map)
        raise UsageError(
            f"{table.source}: say what the scores are{why}: --type {'|'.join(types)}, or type = "
            f"... under [data]; truecost list types"
        )
    return Options(
        kind,
        data.map,
        data.target,
        data.classes or None,
        data.missing or "error",
        data.llr_base,
        data.annotators,
        data.accept,
    )
