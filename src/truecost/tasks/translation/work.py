"""What translations take to be read, counted and scored."""

from typing import TYPE_CHECKING

from truecost.tasks.item_files import Files
from truecost.tasks.item_work import item_work
from truecost.tasks.items import Items
from truecost.tasks.translation.counting import COUNTING, TranslationOptions, count
from truecost.tasks.translation.options import TranslationTable
from truecost.tasks.translation.sentences import check_tokeniser

if TYPE_CHECKING:
    from truecost.study.config import Study


def count_files(files: Files) -> Items:
    """The counted sentences of one system."""
    options = TranslationOptions(
        columns=files.columns,
        reference_columns=files.reference_columns,
        missing=files.missing,
        **files.given,
    )
    return count(files.references, files.output, options, files.name, files.parts)


def check(study: "Study") -> None:
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
