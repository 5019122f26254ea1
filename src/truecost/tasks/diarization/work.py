"""The work of diarization: files are read, counted and scored."""

from truecost.formats import Table
from truecost.outputs.diarization import COUNTING, DiarizationOptions, count
from truecost.outputs.files import Files
from truecost.outputs.items import Items
from truecost.outputs.recordings import refuse_repeated_turns, rows_of, turns_of
from truecost.outputs.work import item_work
from truecost.study.tables import DataTable


def count_files(files: Files) -> Items:
    """The counted recordings of one system."""
    given = dict(files.given)
    path = given.pop("uem", None)
    twice = files.allow_duplicates
    options = files.chosen(DiarizationOptions, allow_duplicates=twice, **given)
    options.check_mapping()
    uem = None if path is None else files.further(path, "uem")
    return count(files.references[0], files.output, options, files.name, uem, files.parts)


def refuse(table: Table, data: DataTable) -> None:
    """Refuse invalid segments, and turns that stand twice."""
    rows = rows_of(turned := turns_of(table, data.map))
    if not data.allow_duplicates:
        refuse_repeated_turns(turned, rows)


WORK = item_work(
    COUNTING,
    count_files,
    page="truecost.tasks.diarization.page:PAGE",
    refuse=refuse,
    checked=(*COUNTING.measures, "speech_error"),
)
