"""XML read block by block, without a tree, and safe against hostile files.

A reader declares the elements of a file and their nesting (`Element`); any other element is refused
with its line, and so is text where none is allowed, so that a typing error or a deep nesting is
found. No DTD is read: a file then cannot define entities that grow without end, and no other file
is ever opened. Elements, and texts of elements, are limited to the length `LONGEST`. Encodings are
UTF-8, UTF-16, and declared ones with one byte a letter.

Source: W3C, Extensible Markup Language (XML) 1.0, fifth edition; the parser is expat.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from truecost.errors import InputError
from truecost.formats.opening import pieces
from truecost.formats.text import cut
from truecost.names import LARGEST

LONGEST = 1 << 20  # bytes of a tag, of a comment, letters of a text
FEW = 12  # lines: so many are read as fast by the parser
ROOTS = {  # format of a file by its root
    "kwslist": "kwslist",
    "stdlist": "kwslist",
    "kwlist": "kwlist",
    "termlist": "kwlist",
    "tlist": "kwlist",
    "ecf": "ecf",
}
ENCODINGS = re.compile(
    r"utf-8|utf-16([lb]e)?|(us-)?ascii|iso-8859-([1-9]|1[013456])|latin-?1"
    r"|(windows-|cp)125[0-8]|koi8-[ru]",
    re.IGNORECASE,
)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
Closed = Callable[[str, int], None]
_BOMS = (b"\xff\xfe", b"\xfe\xff")
_CUT = (3, 5, 6)  # expat's codes: no element found, unclosed token, partial character
_INVALID = 4
_FAULTS = {
    7: "an end tag that does not belong to the open element",
    11: "an entity that XML does not have; write the character itself",
    19: "the declared encoding is not the encoding of the file; declare the right one",
}


@dataclass(frozen=True, slots=True)
class Element:
    """The elements that a file may have, and the functions that handle them.

    `opened(attributes, line)`: called with the names and values by turns; `closed(text, line)`:
    called with the text of the element (without this function no text is allowed); `alike(lines,
    number)`: called with several lines of the element at once and the number of the first, returns
    whether it could read them. Lines that it cannot read go through the parser.
    """

    opened: Callable[[list[str], int], None]
    children: Mapping[str, "Element"] = field(default_factory=dict)
    closed: Closed | None = None
    alike: Callable[[bytes, int], bool] | None = None


def nothing(_: object, line: int) -> None:
    """The handler of an element of which only the content matters."""


def parse(
    blocks: Iterable[bytes],
    source: str,
    roots: Mapping[str, Element],
    after: Callable[[], None] | None = None,
) -> None:
    """Read a file, of one of the roots; `after` is called after every block, to pack rows, say."""
    reading = _Reading(source, roots)
    for block in blocks:
        reading.feed(block)
        if after is not None:
            after()
    reading.close()


class Gathered:
    """The content of a file: its source, for messages, and its root's attributes."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.header: dict[str, str] = {}

    def begin(self, attributes: list[str], _: int) -> None:
        """Store the description that the file has of itself."""
        self.header = mapping(attributes)

    def refuse(self, line: int, why: str) -> NoReturn:
        """InputError with the line."""
        raise InputError(f"{self.source}, line {line}: {why}")


class _Reading:
    """The state of reading a file."""

    def __init__(self, source: str, roots: Mapping[str, Element]) -> None:
        self.source, self.roots = source, roots
        self.expected = " or ".join(f"<{name}>" for name in roots)
        self.stack = [Element(nothing, roots)]
        self.fed, self.window = 0, b""  # bytes given to the parser, and the last of them
        self.skipped = 0  # lines that were read without it
        self.encoding = "UTF-8"
        self.by_line = any(_has_alike(root) for root in roots.values())
        self.parser = self._parser()

    def _parser(self) -> "expat.XMLParserType":
        """A parser whose handlers, called for every tag, check the nesting of elements."""
        parser = expat.ParserCreate()
        parser.ordered_attributes = True
        parser.XmlDeclHandler = self._declared
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartCdataSectionHandler = self._quoted
        stack = self.stack
        push, pop = stack.append, stack.pop
        texts: list[str] = []
        length = 0

        def start(name: str, attributes: list[str]) -> None:
            element = stack[-1].children.get(name)
            if element is None:
                self._unexpected(name)
            push(element)
            element.opened(attributes, parser.CurrentLineNumber + self.skipped)

        def end(_: str) -> None:
            nonlocal length
            closed = pop().closed
            if closed is not None:
                found = "".join(texts)
                texts.clear()
                length = 0
                closed(found, self.line)

        def text(found: str) -> None:
            nonlocal length
            if stack[-1].closed is not None:
                texts.append(found)
                length += len(found)
                if length > LONGEST:
                    self.refuse(self.line, _TOO_LONG)
            elif not found.isspace():
                self._stray(found)

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler = text
        return parser

    def feed(self, block: bytes) -> None:
        """Read a block."""
        if not self.fed and block.startswith(_BOMS):
            self.encoding = "UTF-16"
        start = 0
        while start < len(block):
            taken, end = self._alike(block, start)
            if not taken:
                self._read(block[start:end])
            start = end

    def _alike(self, block: bytes, start: int) -> tuple[bool, int]:
        """Read lines without the parser where possible; otherwise return how far it has to read."""
        if not self.by_line:
            return False, len(block)
        read, whole = self.stack[-1].alike, self.window[-1:] == b"\n"
        if whole and self.parser.CurrentByteIndex != self.fed:
            # What it holds back, a comment perhaps, it goes through again with every line.
            return False, len(block)
        if read is None or not whole:
            return False, block.find(b"\n", start) + 1 or len(block)
        close = block.find(b"</", start)
        close = close if close >= 0 else len(block)
        lines = block[start : block.rfind(b"\n", start, close) + 1]
        count = lines.count(b"\n")
        if count < FEW:
            return False, _behind(block, start, close)
        taken = read(lines, self.line)
        self.skipped += count if taken else 0
        return taken, start + len(lines)

    def _read(self, part: bytes) -> None:
        """Pass bytes to the parser."""
        self.window = self.window[-4:] + part
        self.fed += len(part)
        self._parse(part, final=False)
        if self.fed - self.parser.CurrentByteIndex > LONGEST:
            self.refuse(self.line, _TOO_LONG)

    @property
    def line(self) -> int:
        """Current line of the parser."""
        return self.parser.CurrentLineNumber + self.skipped

    def close(self) -> None:
        """Tell the parser that the file has ended."""
        if not self.fed:
            raise InputError(f"{self.source}: the file is empty; expected {self.expected}")
        self._parse(b"", final=True)

    def _parse(self, block: bytes, *, final: bool) -> None:
        try:
            self.parser.Parse(block, final)
        except expat.ExpatError as error:
            self.refuse(error.lineno + self.skipped, self._why(error, final=final))

    def _why(self, error: expat.ExpatError, *, final: bool) -> str:
        """The fault of XML that is not well-formed."""
        said = expat.ErrorString(error.code)
        if final and error.code in _CUT:
            return "the XML ends before it is complete: is the file cut short?"
        if error.code != _INVALID:
            return _FAULTS.get(error.code, f"this is not XML ({said})")
        at = self.parser.ErrorByteIndex - self.fed + len(self.window)
        if at >= 0 and not _decodes(self.window[at:], self.encoding):
            return (
                f"the text is not {self.encoding}; save the file as UTF-8, and declare no other "
                "encoding"
            )
        if self.window[max(at - 1, 0) : at] == b"&" or self.window[at : at + 1] in (b"&", b"<"):
            return "this is not XML: & is written &amp; and < is written &lt;"
        return f"this is not XML ({said})"

    def _declared(self, _: str, encoding: str | None, __: int) -> None:
        """Refuse encodings that cannot be read byte by byte or block by block."""
        if encoding is None:
            return
        if not ENCODINGS.fullmatch(encoding):
            utf8 = encoding.lower() == "utf8"
            todo = "write it UTF-8" if utf8 else "save the file as UTF-8"
            self.refuse(1, f"the encoding {cut(encoding)!r} is not read; {todo}")
        self.encoding = encoding.upper()

    def _doctype(self, *_: object) -> NoReturn:
        self.refuse(
            self.line,
            "a document type (<!DOCTYPE>), which may declare entities and is not read; remove it",
        )

    def _quoted(self) -> None:
        """Begin a section without elements: only the parser finds its end."""
        self.by_line = False

    def _unexpected(self, name: str) -> NoReturn:
        """The error for an element at a place where it is not allowed."""
        kinds = ", ".join(f"<{child}>" for child in self.stack[-1].children) or "no element"
        known = ROOTS.get(name, "") if len(self.stack) == 1 else ""
        why = f"<{cut(name)}> where {kinds} was expected"
        if known:
            raise InputError(
                f"{self.source}, line {self.line}: {why}; this is a file of format {known}"
            )
        self.refuse(self.line, why)

    def _stray(self, text: str) -> NoReturn:
        self.refuse(self.line, f"the text {cut(text.strip())!r} where there may be none")

    def refuse(self, line: int, why: str) -> NoReturn:
        raise InputError(f"{self.source}, line {line}: {why}; expected {self.expected}")


_TOO_LONG = f"an element, a comment or a text longer than {LONGEST >> 20} MiB"


def _has_alike(element: Element) -> bool:
    """Whether several lines may be read at once in an element, or in one inside it."""
    return element.alike is not None or any(map(_has_alike, element.children.values()))


def _behind(block: bytes, start: int, close: int) -> int:
    """The index up to which the parser reads a few lines: the end of the line with the next end
    tag.

    Where this tag closes an element with content, other elements probably have content too.
    """
    held = block[start:close].rstrip()
    if held and not held.endswith(b"/>"):
        return len(block)
    return block.find(b"\n", close) + 1 or len(block)


def _decodes(data: bytes, encoding: str) -> bool:
    """Whether the first bytes are a letter of an encoding."""
    if encoding.startswith("UTF-16"):
        return True
    try:
        data[:4].decode(encoding)
    except UnicodeDecodeError as error:
        return error.start > 0
    return True


def values(
    attributes: Sequence[str], names: Sequence[str], source: str, line: int, layout: str
) -> list[str]:
    """The values of the attributes that an element must have.

    Parameters
    ----------
    attributes : sequence of str
        Names and values by turns.
    names : sequence of str
        Names of the attributes, in the order of the result; the element may have others.
    layout : str
        Expected form of the element, for messages.
    """
    given = mapping(attributes)
    missing = [name for name in names if name not in given]
    if missing:
        raise InputError(
            f"{source}, line {line}: there is no attribute {missing[0]!r}; expected {layout}"
        )
    return [given[name] for name in names]


def mapping(attributes: Sequence[str]) -> dict[str, str]:
    """Attributes by name, of names and values by turns."""
    return dict(zip(attributes[::2], attributes[1::2], strict=True))


def number(text: str) -> float | None:
    """A text as a number up to 1e70 in size; None where it is none."""
    found = float(text) if NUMBER.fullmatch(text.strip()) else math.inf
    return found if abs(found) <= LARGEST else None


def looks_like_xml(data: bytes) -> bool:
    """Whether the first bytes are XML: a bracket after an optional byte order mark and blanks."""
    start = data[:64].removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"")
    for mark in _BOMS:
        start = start.removeprefix(mark)
    return start.lstrip().startswith(b"<")


def called(data: bytes) -> str:
    """The format of an XML text by its first tag, or XML for a root without a format."""
    tag = re.search(rb"<([A-Za-z]\w*)", data[:4096].replace(b"\0", b""))
    return ROOTS.get(tag[1].decode(), "XML") if tag else "XML"


def format_of(data: bytes, source: str) -> str:
    """The format of an XML file, from its root element.

    Returns
    -------
    str
        Name of the format, a value of `ROOTS`.
    """

    def root(name: str) -> Element:
        def opened(_: list[str], __: int) -> None:
            raise _Root(ROOTS[name])

        return Element(opened)

    try:
        parse(pieces(data), source, {name: root(name) for name in ROOTS})
    except _Root as found:
        return str(found)
    raise AssertionError("XML has a root")  # else it is refused


class _Root(Exception):  # noqa: N818 (no error: what was looked for)
    """The format of a file, raised when its root is read."""
