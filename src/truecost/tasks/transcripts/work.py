"""What transcripts take to be read, counted and scored."""

from truecost.formats import Table
from truecost.outputs.files import Files
from truecost.outputs.items import Items
from truecost.outputs.normalising import checked_steps
from truecost.outputs.options import TranscriptsTable
from truecost.outputs.transcripts import COUNTING, count
from truecost.outputs.utterances import TextOptions, refuse_repeated_texts
from truecost.outputs.work import item_work
from truecost.study.config import Study
from truecost.study.tables import DataTable


def count_files(files: Files) -> Items:
    """The counted utterances of one system."""
    twice = files.allow_duplicates
    options = files.chosen(TextOptions, allow_duplicates=twice, **files.given)
    return count(files.references[0], files.output, options, files.name, files.parts)


def refuse(table: Table, data: DataTable) -> None:
    """Refuse timed words that stand twice."""
    if table.format == "ctm" and not data.allow_duplicates:
        refuse_repeated_texts(table, "word")


def check(study: Study) -> None:
    """Refuse steps of normalisation that are none, whether or not there is a reference."""
    checked_steps(study.table(TranscriptsTable).normalise)


WORK = item_work(
    COUNTING,
    count_files,
    page="truecost.tasks.transcripts.page:PAGE",
    refuse=refuse,
    named_by="by",
    check=check,
)
