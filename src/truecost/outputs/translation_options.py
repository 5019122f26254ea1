"""`[translation]`: how sentences become tokens."""

from typing import Annotated, ClassVar

from truecost.options import Option, PartialTable


class TranslationTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[translation]`: how sentences become tokens."""

    __table__: ClassVar[str] = "translation"

    tokenizer: Annotated[
        str | None,
        Option(help="One of sacrebleu's.", default="13a", needs={"measure": ("bleu",)}),
    ] = None
    lowercase: Annotated[
        bool | None,
        Option(help="Ignore case; TER always does.", needs={"measure": ("bleu", "chrf")}),
    ] = None
