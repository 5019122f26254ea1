"""What `result.json` describes beside its rows, by type."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from truecost.study import ResultFile


def of_type(result: Mapping[str, Any], kind: str) -> list[Any]:
    """The descriptions of one type that a result holds as JSON."""
    every = [d for of in result.get("described", {}).values() for d in of]
    return [d for d in every if d["type"] == kind]


def with_described(result: ResultFile, kind: type, found: Iterable[Any]) -> ResultFile:
    """A result whose descriptions of one type are others."""
    kept = [d for of in result.described.values() for d in of if not isinstance(d, kind)]
    return structs.replace(result, described={result.task: (*kept, *found)})
