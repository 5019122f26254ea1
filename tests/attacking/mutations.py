"""What is done to a file: damage, changes that mean nothing, and changes that mean something."""

import csv
import gzip
import io
import json
import random
import re
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOKENS = [
    *("\0", "\n", "\r", "\t", " ", ",", '"', "'", ";;", "#", "<NA>", "{", "}", "[", "(", "/", "|"),
    *("nan", "inf", "-inf", "null", "true", "1e308", "-1e308", "1e-320", "-0", "0x1", "1,5", "٣"),
    *(
        "9" * 400,
        "[" * 5000,
        "a" * 5000,
        "\x1b[2J",
        "\u202e",
        "é",
        "\ufeff",
        "\ud83d\ude00",
        "=",
        "@",
    ),
    *("&amp;", "&x;", "<!--", "]]>", "\\", "$(x)", "../..", "-", "--help", "%s", "{0}"),
]
NUMBER = re.compile(rb"(?<![\w.+-])-?\d+\.\d+(?![\w.])")
TABLES = (".csv", ".tsv")
SPACED = (".rttm", ".uem", ".ctm", ".stm", ".trn")  # fields apart by blanks, lines in any order
LINED = (*TABLES, *SPACED, ".jsonl", ".ndjson", ".txt")
SCORES = ("score", "llr")  # columns of numbers that figures are made of
STORED = b"SQLite format 3"


@dataclass(frozen=True)
class Mutation:
    """The new bytes of a file, what was done to it, and what is expected of the figures."""

    name: str
    kind: str  # damage, same, other, or place: the file is something else
    data: bytes

    def put(self, target: Path) -> None:
        """Put it where the file was."""
        if self.kind == "place":
            PLACES[self.name](target)
        else:
            target.write_bytes(self.data)


def mutated(rng: random.Random, name: str, data: bytes) -> Mutation:
    """A file with one mutation that its kind allows."""
    ways: dict[str, tuple[str, Callable[[random.Random, str, bytes], bytes]]] = dict(DAMAGE)
    if data.startswith(b"\x1f\x8b"):
        name, data = name.removesuffix(".gz"), gzip.decompress(data)
    ending = name[name.rfind(".") :]
    if ending in LINED and data.count(b"\n") > 2:
        ways |= SAME
        counts = any(map(_counts(name).match, data.splitlines()))
        ways |= OTHER if counts and b"LEXEME" not in data else {}  # few words are searched for
    if ending in TABLES:
        ways |= OF_TABLES
        ways |= OTHER_OF_TABLES if data.count(b"\n") > 2 else {}
    if ending in SPACED:
        ways |= OF_SPACED
    if ending == ".json" and _is_json(data):
        ways |= OF_JSON
    if data.startswith(STORED):
        ways |= OF_STORES
    if rng.random() < 0.02:
        return Mutation(rng.choice(sorted(PLACES)), "place", b"")
    kind = rng.choice(sorted({kind for kind, _ in ways.values()}))
    way = rng.choice(sorted(w for w, (k, _) in ways.items() if k == kind))
    return Mutation(way, kind, ways[way][1](rng, name, data))


def misspelt(rng: random.Random, words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a command with one lost, repeated, replaced or mixed; what runs without end or
    writes elsewhere is left alone.
    """
    found = [*words]
    at = rng.randrange(1, len(found))
    token = rng.choice([t for t in TOKENS if "\0" not in t and len(t) < 500])
    way = rng.choice(("lost", "twice", "token", "other", "behind", "swapped"))
    if way == "lost":
        del found[at]
    elif way == "twice":
        found.insert(at, found[at])
    elif way == "token":
        found[at] = token
    elif way == "other":
        found[at] = rng.choice(words)
    elif way == "behind":
        found[at] += token
    else:
        other = rng.randrange(1, len(found))
        found[at], found[other] = found[other], found[at]
    return tuple(word.replace("..", ".") for word in found)


def _place(rng: random.Random, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 1, 2, 5, 40, 400)))


def _cut(rng: random.Random, _: str, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _removed(rng: random.Random, _: str, data: bytes) -> bytes:
    start, end = _place(rng, data)
    return data[:start] + data[end:]


def _repeated(rng: random.Random, _: str, data: bytes) -> bytes:
    start, end = _place(rng, data)
    return data[:end] + data[start:end] * rng.choice((1, 2, 50)) + data[end:]


def _inserted(rng: random.Random, _: str, data: bytes) -> bytes:
    start, end = _place(rng, data)
    token = rng.choice(TOKENS).encode("utf-8", "surrogatepass")
    return data[:start] + token + data[rng.choice((start, end)) :]


def _flipped(rng: random.Random, _: str, data: bytes) -> bytes:
    found = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 3, 30))):
        found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


def _field(rng: random.Random, _: str, data: bytes) -> bytes:
    """One word is another token, or the word of another place."""
    words = [*re.finditer(rb"[^\s,\"<>=:{}\[\]]+", data)]
    if not words:
        return b""
    one, other = rng.choice(words), rng.choice(words)
    token = rng.choice(TOKENS).encode("utf-8", "surrogatepass")
    return data[: one.start()] + rng.choice((token, other[0], b"")) + data[one.end() :]


def _number(rng: random.Random, _: str, data: bytes) -> bytes:
    numbers = [*re.finditer(rb"-?\d+(?:\.\d+)?(?:e-?\d+)?", data)]
    if not numbers:
        return data + b"1"
    one = rng.choice(numbers)
    other = rng.choice((b"1e308", b"-1e308", b"1e-310", b"-1", b"0", b"nan", b"9" * 30, b"1e999"))
    return data[: one.start()] + other + data[one.end() :]


def _lines_mixed(rng: random.Random, _: str, data: bytes) -> bytes:
    lines = data.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def _utf16(_: random.Random, __: str, data: bytes) -> bytes:
    return data.decode("latin-1").encode("utf-16")


DAMAGE: dict[str, tuple[str, Callable[[random.Random, str, bytes], bytes]]] = {
    "cut": ("damage", _cut),
    "removed": ("damage", _removed),
    "repeated": ("damage", _repeated),
    "inserted": ("damage", _inserted),
    "flipped": ("damage", _flipped),
    "field": ("damage", _field),
    "number": ("damage", _number),
    "lines mixed": ("damage", _lines_mixed),
    "utf-16": ("damage", _utf16),
    "damaged gzip": ("damage", lambda r, n, d: _flipped(r, n, gzip.compress(d, mtime=0))),
    "empty": ("damage", lambda *_: b""),
}


def _spelled(rng: random.Random, _: str, data: bytes) -> bytes:
    """Numbers with a point are written in another way that means the same."""

    def other(found: re.Match[bytes]) -> bytes:
        said = found[0]
        return rng.choice((said + b"0", said + b"e0", said + b"E+00", said))

    head, end, rest = data.partition(b"\n")  # a header may name columns by numbers
    return head + end + NUMBER.sub(other, rest)


PLACES: dict[str, Callable[[Path], object]] = {
    "missing": lambda target: None,
    "folder": lambda target: target.mkdir(),
    "ring of links": lambda target: target.symlink_to(target.name),
    "link to nothing": lambda target: target.symlink_to("nothing"),
    "device without end": lambda target: target.symlink_to("/dev/zero"),
    "bomb": lambda target: target.write_bytes(gzip.compress(bytes(1 << 28), 1)),
}
SAME = {
    "line ends": ("same", lambda _, __, d: d.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")),
    "byte order mark": ("same", lambda _, __, d: b"\xef\xbb\xbf" + d.removeprefix(b"\xef\xbb\xbf")),
    "gzip": ("same", lambda _, __, d: gzip.compress(d, mtime=0)),
    "no last line end": ("same", lambda _, __, d: d.removesuffix(b"\n")),
}


def _table(name: str, data: bytes) -> list[list[str]]:
    separator = "\t" if name.endswith(".tsv") else ","
    return [*csv.reader(io.StringIO(data.decode()), delimiter=separator)]


def _written(name: str, rows: list[list[str]], quoting: int = csv.QUOTE_MINIMAL) -> bytes:
    stream = io.StringIO()
    separator = "\t" if name.endswith(".tsv") else ","
    csv.writer(stream, delimiter=separator, quoting=quoting, lineterminator="\n").writerows(rows)
    return stream.getvalue().encode()


def _rows_mixed(rng: random.Random, name: str, data: bytes) -> bytes:
    head, *rows = _table(name, data)
    rng.shuffle(rows)
    return _written(name, [head, *rows])


def _columns_mixed(rng: random.Random, name: str, data: bytes) -> bytes:
    rows = _table(name, data)
    order = [*range(len(rows[0]))]
    rng.shuffle(order)
    return _written(name, [[row[k] for k in order] for row in rows])


OF_TABLES = {
    "rows mixed": ("same", _rows_mixed),
    "columns mixed": ("same", _columns_mixed),
    "quotes": ("same", lambda _, n, d: _written(n, _table(n, d), csv.QUOTE_ALL)),
    "numbers spelled": ("same", _spelled),
}


def _spaces(rng: random.Random, _: str, data: bytes) -> bytes:
    """More blanks between fields and behind them."""
    lines = data.splitlines()
    wider = [rng.choice((b"  ", b"\t", b" ")).join(line.split(b" ")) for line in lines]
    return b"".join(line + rng.choice((b"", b" ", b"\t")) + b"\n" for line in wider)


OF_SPACED = {"white space": ("same", _spaces), "lines mixed": ("same", _lines_mixed)}
OF_JSON = {
    "white space": ("same", lambda _, __, d: json.dumps(json.loads(d), indent=3).encode()),
    "keys turned": ("same", lambda _, __, d: json.dumps(_turned(json.loads(d))).encode()),
}


def _is_json(data: bytes) -> bool:
    with suppress(ValueError):
        return json.loads(data) is not None
    return False


def _turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _turned(value[key]) for key in reversed(value)}
    return [*map(_turned, value)] if isinstance(value, list) else value


def _label_changed(rng: random.Random, name: str, data: bytes) -> bytes:
    """One row has the label or decision of another one."""
    rows = _table(name, data)
    column = _column(rows, ("label", "decision"))
    texts = sorted({row[column] for row in rows[1:]})
    if column < 0 or len(texts) < 2:
        return _line_dropped(rng, name, data)
    row = rng.choice(rows[1:])
    row[column] = rng.choice([text for text in texts if text != row[column]])
    return _written(name, rows)


def _score_changed(rng: random.Random, name: str, data: bytes) -> bytes:
    """The highest score is the lowest, or the other way round: thresholds are crossed."""
    rows = _table(name, data)
    column = _column(rows, SCORES)
    try:
        ordered = sorted(rows[1:], key=lambda row: float(row[column]))
    except ValueError:
        column = -1
    if column < 0:
        return _line_dropped(rng, name, data)
    low, high = (float(ordered[k][column]) for k in (0, -1))
    inside = low >= 0 and high <= 1  # probabilities stay such
    if rng.random() < 0.5:
        ordered[0][column] = "1.0" if inside else str(high + 1)
    else:
        ordered[-1][column] = "0.0" if inside else str(low - 1)
    return _written(name, rows)


def _column(rows: list[list[str]], names: tuple[str, ...]) -> int:
    """The first column with one of some names; -1 where there is none."""
    return next((k for k, title in enumerate(rows[0]) if title in names), -1)


def _line_dropped(rng: random.Random, name: str, data: bytes) -> bytes:
    """A line less: one that means something, and no header."""
    lines = data.splitlines(keepends=True)
    first, begun = int(name.endswith(TABLES)), _counts(name)
    counting = [k for k in range(first, len(lines)) if begun.match(lines[k])]
    del lines[rng.choice(counting)]
    return b"".join(lines)


def _line_twice(rng: random.Random, name: str, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    first, begun = int(name.endswith(TABLES)), _counts(name)
    at = rng.choice([k for k in range(first, len(lines)) if begun.match(lines[k])])
    return b"".join([*lines[: at + 1], lines[at].rstrip(b"\r\n") + b"\n", *lines[at + 1 :]])


def _counts(name: str) -> re.Pattern[bytes]:
    """How a line begins that means something: of RTTM who speaks, of events a prediction."""
    some = rb'(?!;;|#|.*"event": ?"(?!predict))\s*\S'
    return re.compile(rb"SPEAKER" if name.endswith(".rttm") else some)


OTHER = {"line dropped": ("other", _line_dropped), "line twice": ("other", _line_twice)}
OTHER_OF_TABLES = {
    "label changed": ("other", _label_changed),
    "score changed": ("other", _score_changed),
}


def _cell(rng: random.Random, _: str, data: bytes) -> bytes:
    """A value of a database is another one, which SQLite keeps whatever the column is for."""
    db = sqlite3.connect(":memory:")
    db.deserialize(_unlogged(data))
    names = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = rng.choice(names)
    column = rng.choice([row[1] for row in db.execute(f"PRAGMA table_info({table})")])
    token = rng.choice(TOKENS).encode("utf-8", "surrogatepass")
    other = rng.choice([token, token.decode("utf-8", "replace"), -1, 1e308, 1 << 62, "", b""])
    some = f"WHERE {column} IN (SELECT {column} FROM {table} ORDER BY RANDOM() LIMIT 1)"
    try:
        db.execute(f"UPDATE OR IGNORE {table} SET {column} = ? {some}", (other,))
    except sqlite3.DatabaseError:  # what the tables themselves refuse
        db.rollback()
    db.commit()
    return db.serialize()


def _unlogged(data: bytes) -> bytes:
    """A database in memory has no log beside it."""
    return data[:18] + b"\1\1" + data[20:]


OF_STORES = {
    "cell": ("damage", _cell),
    "other cell": ("damage", _cell),
    "yet another cell": ("damage", _cell),
}
