"""The work of transcripts: files are read, counted and scored."""

from dataclasses import replace

import polars as pl

from truecost.errors import counted, first_five
from truecost.formats import Table
from truecost.formats.manifests import THEIRS
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
    found = count(files.references[0], files.output, options, files.name, files.parts)
    return replace(found, problems=(*_other_references(files), *found.problems))


def _other_references(files: Files) -> tuple[str, ...]:
    """A note on a manifest whose own references differ from those that it is compared with."""
    there, output = files.references[0], files.output
    if THEIRS not in output.columns or not {"id", "text"} <= {*there.columns}:
        return ()
    own = output.frame.select("id", THEIRS)
    both = there.frame.select("id", "text").join(own, on="id")
    other = both.filter(pl.col("text") != pl.col(THEIRS))["id"]
    if not len(other):
        return ()
    return (
        f"{counted(len(other), 'utterance', 'have')} another reference in {output.source} than in "
        f"{there.source}, which counts: {first_five(other)}",
    )


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
