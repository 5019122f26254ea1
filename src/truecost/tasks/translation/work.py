"""The work of translation: files are read, counted and scored."""

from truecost.outputs.aligning import check_tokeniser
from truecost.outputs.files import Files
from truecost.outputs.items import Items
from truecost.outputs.options import TranslationTable
from truecost.outputs.translation import COUNTING, TranslationOptions, count
from truecost.outputs.work import item_work
from truecost.study.config import Study


def count_files(files: Files) -> Items:
    """The counted sentences of one system."""
    options = files.chosen(TranslationOptions, **files.given)
    return count(files.references, files.output, options, files.name, files.parts)


def check(study: Study) -> None:
    """Refuse a tokeniser that is none, whether or not there is a reference."""
    if (name := study.table(TranslationTable).tokenizer) is not None:
        check_tokeniser(name)


WORK = item_work(
    COUNTING,
    count_files,
    page="truecost.tasks.translation.page:PAGE",
    several=True,
    check=check,
)
