"""Validation of the files of a study: every file as scoring would read it, every fault listed."""

import msgspec

from truecost.errors import TruecostError, counted
from truecost.formats import Table
from truecost.study.config import Study
from truecost.study.itemised import read_items
from truecost.study.reader import Reader, options_of
from truecost.study.sources import Source, sources_of
from truecost.tasks.validation import Check, validate


def validate_study(study: Study, trials: str | None = None) -> dict[str, list[Check]]:
    """All checks of all files of a study.

    Parameters
    ----------
    study : Study
        Its systems are checked with the settings that scoring would take.
    trials : str, optional
        File with the trials that have to be scored.

    Returns
    -------
    dict of str to list of Check
        By name of the system, after its collection where there are several.

    Raises
    ------
    UsageError
        When the study contradicts itself.
    InputError
        When the trials, the key or metadata cannot be read.
    """
    study.check()
    reader = Reader()
    wanted = None if trials is None else reader.table(trials, study.data.key_format)
    found = {}
    for collection in study.collections or ("",):
        for source in sources_of(study, collection):
            name = f"{collection}, {source.name}" if collection else source.name
            found[name] = _checks(source, reader, wanted)
    return found


def _checks(source: Source, reader: Reader, wanted: Table | None) -> list[Check]:
    key, metadata = reader.joined(source.data)
    try:
        table = reader.table(source.file, source.data.input_format)
        # A list of scores whose format does not state its type is checked as plain scores.
        options = options_of(source.data, table, otherwise="score")
    except TruecostError as error:
        return [Check("file", "error", str(error))]
    stated = bool(source.data.type or table.kind)
    return validate(
        table,
        options,
        trials=wanted,
        key=key,
        metadata=metadata,
        name=source.name,
        stated=stated,
    )


def validate_items(study: Study) -> dict[str, list[Check]]:
    """All checks of the outputs of a task that has a reference; without one they are read.

    Parameters
    ----------
    study : Study

    Returns
    -------
    dict of str to list of Check
        By name of the system, after its collection where there are several.

    Raises
    ------
    UsageError
        When the study contradicts itself.
    """
    alone = not study.data.reference and not study.collections
    if alone:  # without a reference a study is not complete; nothing else may be wrong with it
        named = msgspec.structs.replace(study.data, reference=("none",))
        msgspec.structs.replace(study, data=named).check()
    else:
        study.check()
    reader = Reader(study.task or "trials")
    found = {}
    for collection in study.collections or ("",):
        for source in sources_of(study, collection):
            name = f"{collection}, {source.name}" if collection else source.name
            found[name] = _item_checks(source, reader, None if alone else study)
    return found


def _item_checks(source: Source, reader: Reader, study: Study | None) -> list[Check]:
    """The file on its own, and held against the reference of a study."""
    try:
        table = reader.table(source.file, source.data.input_format)
    except TruecostError as error:
        return [Check("file", "error", str(error))]
    read = f"{table.source}: {counted(len(table), 'row')} read"
    checks = [Check("file", "ok", f"{read} as {table.layout}" if table.layout else read)]
    if study is None:
        return checks
    try:
        items = read_items(source, reader, study)
    except TruecostError as error:
        return [*checks, Check("reference", "error", str(error))]
    said = f"{table.source}: {counted(len(items), items.counting.item)} as in the reference"
    found = [Check("reference", "warning", f"{table.source}: {text}") for text in items.problems]
    return [*checks, Check("reference", "ok", said), *found]
