"""What translations take to be read, counted and scored."""

from truecost.errors import UsageError
from truecost.tasks.item_files import Files
from truecost.tasks.item_work import item_work
from truecost.tasks.items import Items
from truecost.tasks.translation.counting import COUNTING, TranslationOptions, count


def count_files(files: Files) -> Items:
    """The counted sentences of one system."""
    if "tokenizer" in files.given and "ngrams" not in files.parts:
        raise UsageError(
            "--tokenizer goes with bleu, and no measure asked for needs it: leave it out"
        )
    options = TranslationOptions(
        columns=files.columns,
        reference_columns=files.reference_columns,
        missing=files.missing,
        **files.given,
    )
    return count(files.references, files.output, options, files.name, files.parts)


WORK = item_work(COUNTING, count_files, page="truecost.tasks.translation.page:PAGE", several=True)
