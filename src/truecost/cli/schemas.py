"""`schema`: the JSON schemas of files, with the text of each key beside it."""

import inspect
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Literal, get_args, get_type_hints

from truecost.cli.helping import flowing
from truecost.errors import UsageError
from truecost.options import declared
from truecost.tasks import find, names

Which = Literal["result", "study", "resources"]
# An entry of the section "Attributes" of a docstring.
ENTRY = re.compile(r"^(?P<keys>\w.*) : .*\n(?P<text>(?:    .*\n?|\n)+)", re.MULTILINE)


def schema(which: Which = "result", /) -> None:
    """Print the JSON schema of result.json, of study.toml, or of resource records.

    An editor checks and completes a file with its schema. Each key has a description.

    Example: truecost schema study

    Parameters
    ----------
    which
        Schema: result (of result.json and of --json), study (of study.toml), or resources (of the
        records of truecost resources). Default: result.
    """
    import msgspec

    from truecost.resources import Resources

    if which == "result":
        found = _schema_of_results()
    else:
        found = msgspec.json.schema(Resources) if which == "resources" else _schema_of_studies()
    _describe(found["$defs"].values())
    print(json.dumps(found, indent=2))


def _describe(kinds: Iterable[dict[str, Any]]) -> None:
    """Split the docstring of each type: its text stays there, each attribute goes to its key."""
    for kind in kinds:
        text = inspect.cleandoc(kind.pop("description", "")).replace("``", "`")
        about, *sections = re.split(r"\n\n(?=\w+\n---)", text)
        kind.update({"description": flowing(about)} if about else {})
        attributes = next((one for one in sections if one.startswith("Attributes\n")), "")
        for entry in ENTRY.finditer(attributes):
            for key in entry["keys"].split(", "):
                if key in kind["properties"]:
                    kind["properties"][key].setdefault(
                        "description", flowing(inspect.cleandoc(entry["text"]))
                    )


def _schema_of_table(table: type) -> dict[str, dict[str, Any]]:
    """The parts of a table's JSON schema beside types: help, default, range."""
    found: dict[str, dict[str, Any]] = {}
    for option in declared(table):
        known = option.option
        said: dict[str, Any] = {"description": option.help}
        if known.default is not None:
            said["x-default"] = known.default  # a key that is left out is not given
        ends = {
            "minimum": known.ge,
            "exclusiveMinimum": known.gt,
            "maximum": known.le,
            "exclusiveMaximum": known.lt,
        }
        found[option.key] = said | {name: end for name, end in ends.items() if end is not None}
    return found


def _schema_of_studies() -> dict[str, Any]:
    """The schema of a study: its own tables, then those of every task, from their options."""
    import msgspec

    from truecost.study import Study
    from truecost.study.config import table_types
    from truecost.study.tables import DataTable, SystemTable

    kinds = table_types()
    refs, found = msgspec.json.schema_components(
        [Study, *kinds.values()], ref_template="#/$defs/{name}"
    )
    keys = found["Study"]["properties"]
    del keys["own"]
    keys["task"]["anyOf"][0]["enum"] = [*names()]
    keys |= dict(zip(kinds, refs[1:], strict=True))
    hints = (*get_type_hints(Study).values(), *kinds.values())
    every = {Study, *(one for hint in hints for one in (hint, *get_args(hint)))}
    for kind in filter(msgspec.inspect.is_struct_type, every):
        for key, said in _schema_of_table(kind).items():
            found[kind.__name__]["properties"][key] |= said
    for kind in (DataTable, SystemTable):  # a unit may have a column for each side of a trial
        for key in ("map", "reference_map"):
            several = {"type": "array", "items": {"type": "string"}}
            columns = {"anyOf": [{"type": "string"}, several]}
            found[kind.__name__]["properties"][key]["additionalProperties"] = columns
    return {**refs[0], "$defs": found}


def _schema_of_results() -> dict[str, Any]:
    """The schema of a result, with the descriptions of every task."""
    import msgspec

    from truecost.study import ResultFile
    from truecost.study.outcome import types_of

    tuples = {}
    for task in names():
        with suppress(UsageError):  # that of another distribution, which is broken
            if find(task).load().descriptions:
                tuples[task] = types_of(task)
    refs, found = msgspec.json.schema_components(
        [ResultFile, *tuples.values()], ref_template="#/$defs/{name}"
    )
    described = dict(zip(tuples, refs[1:], strict=True))
    found["ResultFile"]["properties"]["task"]["enum"] = [*names()]
    found["ResultFile"]["properties"]["described"]["properties"] = described
    return {**refs[0], "$defs": found}
