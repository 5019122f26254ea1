"""Validation of the files of a study: every file as scoring would read it, every fault listed."""

import msgspec

from truecost.errors import TruecostError, UsageError, counted
from truecost.formats import Table
from truecost.formats.ids import read_ids
from truecost.outputs.listing import Naming, check_ids
from truecost.outputs.read import Itemised, check_maps, read_items, read_output, reference_map
from truecost.study.checks import Check
from truecost.study.config import Study
from truecost.study.reader import Reader
from truecost.study.sources import Source


def unjudged_items(study: Study, ids: str | None) -> Study:
    """A study that may lack its reference, as a whole one: nothing else may be wrong with it."""
    alone = _lacks_reference(study)
    if ids is not None and not alone:
        raise UsageError("--ids takes the place of --reference: give one of them")
    named = msgspec.structs.replace(study.data, reference=("none",))
    return msgspec.structs.replace(study, data=named) if alone else study


def _lacks_reference(study: Study) -> bool:
    return not study.data.reference and not study.collections


def checks_of_items(
    of: Itemised, source: Source, reader: Reader, study: Study, ids: str | None
) -> list[Check]:
    """All checks of an output; without a reference it is read, and held against ids."""
    if not _lacks_reference(study):
        return _with_reference(of, source, reader, study)
    wanted = None
    if ids is not None:
        form = study.data.reference_format
        wanted = reader.held.get(ids) or reader.once(
            ("ids", ids), lambda: read_ids(ids, form, reader.task)
        )
    return _alone(of, source, reader, study, wanted)


def _read(of: Itemised, source: Source, reader: Reader) -> tuple[Table | None, list[Check]]:
    """The file of a system, and what is to be said of it."""
    try:
        table = read_output(source, reader)
        of.refuse(table, source.data)
    except TruecostError as error:
        return None, [Check("file", "error", str(error))]
    read = f"{table.source}: {counted(len(table), 'row')} read"
    return table, [Check("file", "ok", f"{read} as {table.layout}" if table.layout else read)]


def _alone(
    of: Itemised, source: Source, reader: Reader, study: Study, wanted: Table | None
) -> list[Check]:
    """The file on its own, or held against the ids that are wanted."""
    check_maps(source.data, of.counting.task)
    table, found = _read(of, source, reader)
    if table is None:
        return found
    return [*found, *_ids(of, table, wanted, source, study), *_units(source)]


def _units(source: Source) -> list[Check]:
    """That a column of units is not looked for: it stands in the reference, or beside it."""
    column = source.data.map.get("unit")
    said = f"{source.file}: --map unit={column} is not checked: no reference is given"
    return [Check("units", "ok", said)] if column else []


def _with_reference(of: Itemised, source: Source, reader: Reader, study: Study) -> list[Check]:
    """The file held against the reference of a study, as scoring holds it."""
    table, found = _read(of, source, reader)
    if table is None:
        return found
    if of.checked and not study.measures:  # which are asked for is not known yet
        study = msgspec.structs.replace(study, measures=of.checked)
    try:
        items = read_items(of, source, reader, study)
    except TruecostError as error:
        faults = _faults(of, table, source, reader, study)
        return [*found, *(faults if len(faults) > 1 else [Check("reference", "error", str(error))])]
    said = f"{table.source}: {counted(len(items), items.counting.item)} as in the reference"
    notes = [Check("reference", "warning", f"{table.source}: {text}") for text in items.problems]
    return [*found, Check("reference", "ok", said), *notes]


def _faults(
    of: Itemised, table: Table, source: Source, reader: Reader, study: Study
) -> list[Check]:
    """All that is wrong with the ids, where scoring stops at the first of it."""
    if of.counting.rows:
        return []
    try:
        wanted = reader.table(source.data.reference[0], source.data.reference_format)
    except TruecostError:
        return []
    return [check for check in _ids(of, table, wanted, source, study) if check.state == "error"]


def _ids(
    of: Itemised, table: Table, wanted: Table | None, source: Source, study: Study
) -> list[Check]:
    """The ids of a file, held against those that are wanted."""
    counting = of.counting
    naming = Naming(
        counting.item,
        source.data.map,
        reference_map(source),
        key=counting.key,
        rows=counting.rows,
        by=study.given(counting.task).get(of.named_by),
        missing=source.data.missing or "error",
    )
    try:
        return check_ids(table, wanted, naming)
    except TruecostError as error:
        return [Check("ids", "error", str(error))]
