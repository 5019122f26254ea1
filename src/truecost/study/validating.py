"""Validation of the files of a study: every file as scoring would read it, every fault listed."""

import msgspec

from truecost.errors import TruecostError, UsageError, counted
from truecost.formats import Table
from truecost.formats.ids import read_ids
from truecost.study.config import Study
from truecost.study.itemised import counting_of, read_items, read_output, reference_map
from truecost.study.reader import Reader, options_of
from truecost.study.sources import Source, sources_of
from truecost.tasks.diarization.segments import refuse_repeated_turns, rows_of, turns_of
from truecost.tasks.listing import Naming, check_ids
from truecost.tasks.transcripts.utterances import refuse_repeated_texts
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


def validate_items(study: Study, ids: str | None = None) -> dict[str, list[Check]]:
    """All checks of the outputs of a task that has a reference; without one they are read.

    Parameters
    ----------
    study : Study
    ids : str, optional
        File with the ids that outputs have to have, in place of a reference.

    Returns
    -------
    dict of str to list of Check
        By name of the system, after its collection where there are several.

    Raises
    ------
    UsageError
        When the study contradicts itself.
    InputError
        When the ids cannot be read.
    """
    alone = not study.data.reference and not study.collections
    if ids is not None and not alone:
        raise UsageError("--ids takes the place of --reference: give one of them")
    if alone:  # without a reference a study is not complete; nothing else may be wrong with it
        named = msgspec.structs.replace(study.data, reference=("none",))
        msgspec.structs.replace(study, data=named).check()
    else:
        study.check()
    reader = Reader(study.task or "trials")
    wanted = None
    if ids is not None:
        wanted = read_ids(ids, study.data.reference_format, reader.task)
    found = {}
    for collection in study.collections or ("",):
        for source in sources_of(study, collection):
            name = f"{collection}, {source.name}" if collection else source.name
            if alone:
                found[name] = _alone(source, reader, study, wanted)
            else:
                found[name] = _with_reference(source, reader, study)
    return found


def validate_logs(study: Study) -> dict[str, list[Check]]:
    """All checks of the logs of a study of AB/BA.

    Parameters
    ----------
    study : Study

    Returns
    -------
    dict of str to list of Check
        By name of the deployment, after its collection where there are several.

    Raises
    ------
    UsageError
        When the study contradicts itself.
    """
    from truecost.study.deployed import LogFile

    study.check()
    reader = Reader("abba")
    found = {}
    for collection in study.collections or ("",):
        for source in sources_of(study, collection):
            name = f"{collection}, {source.name}" if collection else source.name
            try:
                # A log comes before its labels, and its machine scores before their calibration.
                log = LogFile.read(source, reader, study, unlabelled=True, raw_machine=True)
                found[name] = log.checks()
            except TruecostError as error:
                found[name] = [Check("file", "error", str(error))]
    return found


def _read(source: Source, reader: Reader) -> tuple[Table | None, list[Check]]:
    """The file of a system, and what is to be said of it."""
    try:
        table = read_output(source, reader)
        if reader.task == "diarization":
            rows = rows_of(turned := turns_of(table, source.data.map))
            if not source.data.allow_duplicates:
                refuse_repeated_turns(turned, rows)
        if table.format == "ctm" and not source.data.allow_duplicates:
            refuse_repeated_texts(table, "word")
    except TruecostError as error:
        return None, [Check("file", "error", str(error))]
    read = f"{table.source}: {counted(len(table), 'row')} read"
    return table, [Check("file", "ok", f"{read} as {table.layout}" if table.layout else read)]


def _alone(source: Source, reader: Reader, study: Study, wanted: Table | None) -> list[Check]:
    """The file on its own, or held against the ids that are wanted."""
    table, found = _read(source, reader)
    return found if table is None else [*found, *_ids(table, wanted, source, study)]


def _with_reference(source: Source, reader: Reader, study: Study) -> list[Check]:
    """The file held against the reference of a study, as scoring holds it."""
    table, found = _read(source, reader)
    if table is None:
        return found
    if study.task == "diarization" and not study.measures:  # which are asked for is not known yet
        every = (*counting_of("diarization").measures, "speech_error")
        study = msgspec.structs.replace(study, measures=every)
    try:
        items = read_items(source, reader, study)
    except TruecostError as error:
        faults = _faults(table, source, reader, study)
        return [*found, *(faults if len(faults) > 1 else [Check("reference", "error", str(error))])]
    said = f"{table.source}: {counted(len(items), items.counting.item)} as in the reference"
    notes = [Check("reference", "warning", f"{table.source}: {text}") for text in items.problems]
    return [*found, Check("reference", "ok", said), *notes]


def _faults(table: Table, source: Source, reader: Reader, study: Study) -> list[Check]:
    """All that is wrong with the ids, where scoring stops at the first of it."""
    if study.task == "diarization":
        return []
    try:
        wanted = reader.table(source.data.reference[0], source.data.reference_format)
    except TruecostError:
        return []
    return [check for check in _ids(table, wanted, source, study) if check.state == "error"]


def _ids(table: Table, wanted: Table | None, source: Source, study: Study) -> list[Check]:
    """The ids of a file, held against those that are wanted."""
    task = study.task or "trials"
    naming = Naming(
        task,
        counting_of(task).item,
        source.data.map,
        reference_map(source),
        study.transcripts.by,
        source.data.missing or "error",
    )
    try:
        return check_ids(table, wanted, naming)
    except TruecostError as error:
        return [Check("ids", "error", str(error))]
