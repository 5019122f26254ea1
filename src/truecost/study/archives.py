"""Archives whose bytes depend on what they hold alone, and YAML."""

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

SINCE = (1980, 1, 1, 0, 0, 0)  # no time of day in archives


def packed(files: Mapping[str, bytes]) -> bytes:
    """An archive with files by their names: equal files give equal bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, SINCE)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[name])
    return stream.getvalue()


def yaml(content: Any, indent: int = 0) -> str:
    """Mappings, lists, texts and numbers as YAML; texts are quoted, as JSON quotes them."""
    lines = []
    for name, value in content.items():
        pad = " " * indent
        if isinstance(value, list) and value and isinstance(value[0], dict):
            inner = (yaml(entry, indent + 4) for entry in value)
            entries = [f"{pad}  - {text[indent + 4 :]}" for text in inner]
            lines.append(f"{pad}{name}:\n{''.join(entries)}")
        else:
            lines.append(f"{pad}{name}: {json.dumps(value)}\n")
    return "".join(lines)
