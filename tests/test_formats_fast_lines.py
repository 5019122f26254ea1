"""Lines that are written alike are read at once, with the same outcome as one by one."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import InputError
from truecost.formats import kwslist, xml
from truecost.formats import terms as lexemes
from truecost.formats.kwslist import DetectionList, of_blocks, values_of

NAMES = ("b", "a")
LINE = '<kw a="1" b="x y"/>\n'


def blocks(text: str, size: int = 1 << 18) -> list[bytes]:
    data = text.encode()
    return [data[k : k + size] for k in range(0, len(data), size)]


def told(found: DetectionList) -> list[object]:
    """All that a list says, in a form that can be compared."""
    columns = (found.query, found.document, found.channel, found.start, found.duration)
    more = (found.score, found.accepted, found.line)
    texts = (found.answers.rows(), found.queries, found.documents, found.channels)
    return [*(column.tolist() for column in (*columns, *more)), *texts]


def both(text: str, size: int = 1 << 18) -> list[object]:
    """What is read, or the fault that is told: the same with the parser alone."""
    return same(blocks(text, size))


def same(data: list[bytes]) -> list[object]:
    """The same of blocks, however few lines are read at once."""
    results = []
    for alone, few in ((False, 1), (False, xml.FEW), (True, 1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(xml, "FEW", few)
            if alone:
                patch.setattr(kwslist, "values_of", lambda *_: None)
            try:
                results.append(told(of_blocks(data, "f.xml")))
            except InputError as error:
                results.append([str(error)])
    assert results[0] == results[1] == results[2]
    return results[0]


ALIKE = {
    "one": (LINE, [["x y"], ["1"]]),
    "more": (LINE + '<kw a="2" b=">"/>\n', [["x y", ">"], ["1", "2"]]),
    "indented": ('\t<kw  a = "1" b="" />\r\n' * 2, [["", ""], ["1", "1"]]),
    "an apostrophe": ('<kw b="don\'t" a="1"/>\n', [["don't"], ["1"]]),
    "more attributes": ('<kw c="3" b="2" a="1"/>\n', [["2"], ["1"]]),
}


@pytest.mark.parametrize("name", ALIKE)
def test_lines_that_are_alike(name):
    text, values = ALIKE[name]
    assert values_of(text.encode(), "kw", NAMES) == values


OTHER = {
    "another element": LINE.replace("kw", "kv"),
    "a longer name": LINE.replace("kw", "kws"),
    "other layout": LINE + LINE.replace(" b", "  b"),
    "other order": LINE + '<kw b="1" a="2"/>\n',
    "one missing": '<kw a="1"/>\n',
    "missing below": LINE + '<kw a="1"/>\n',
    "one twice": '<kw a="1" a="1" b="2"/>\n',
    "a reference": LINE.replace("x", "&lt;"),
    "a bracket": LINE.replace("x", "<"),
    "not ASCII": LINE.replace("x", "é"),
    "not ASCII in each": LINE.replace("x", "é") * 2,
    "a tab in a value": LINE.replace("x", "\t") * 2,
    "a tab below": LINE + LINE.replace("x y", "x\ty"),
    "a value in two lines": LINE.replace("x y", "x\ny") * 2,
    "other quotes": LINE.replace('"', "'"),
    "other quotes below": LINE + LINE.replace('"', "'"),
    "a quote too many": LINE.replace("x y", 'x" y'),
    "two on a line": LINE.strip() + LINE,
    "text behind": LINE.replace("/>", "/>x"),
    "text before": "x" + LINE,
    "an end tag": LINE.replace("/>", "></kw>"),
    "open": LINE.replace("/>", ">"),
    "a comment": "<!-- x -->\n" + LINE,
    "a comment below": LINE + "<!-- -->\n",
    "a blank line": "\n" + LINE,
    "a blank line below": LINE + "\n" + LINE,
    "no blank between": LINE.replace(" b", "b"),
    "a NUL": LINE.replace("x", "\0") * 2,
}


@pytest.mark.parametrize("name", OTHER)
def test_lines_for_the_parser(name):
    assert values_of(OTHER[name].encode(), "kw", NAMES) is None


DETECTED = '<kw file="F1" channel="1" tbeg="{}" dur="0.5" score="0.25" decision="YES"/>\n'
HEAD = '<kwslist system_id="s">\n<detected_kwlist kwid="K1" search_time="1" oov_count="0">\n'
TAIL = "</detected_kwlist>\n</kwslist>\n"
INSIDE = {
    "alike": "{0}{1}{2}",
    "a comment": "{0}<!-- \n{1}-->\n{2}",
    "a comment at once": "<!--\n{0}{1}-->\n{2}",
    "CDATA": "{0}<![CDATA[\n{1}]]>\n{2}",
    "CDATA of blanks": "{0}<![CDATA[\n]]>\n{1}{2}",
    "an instruction": "{0}<?x \n{1}?>\n{2}",
    "text": "{0}x\n{1}{2}",
    "a tag over lines": "{0}<kw\n{1}{2}",
    "a value over lines": '{0}<kw file="\n{1}{2}',
    "another element": "{0}<x/>\n{1}{2}",
    "a fault in a value": "{0}{1}<!-- -->\n<kw file='F' channel='' tbeg='1' />\n{2}",
    "a list in a list": "{0}<detected_kwlist kwid='K2'>\n{1}{2}",
    "two lists": "{0}</detected_kwlist>\n<detected_kwlist kwid='K2'>\n{1}{2}",
    "a list twice": "{0}</detected_kwlist>\n<detected_kwlist kwid='K1'>\n{1}{2}",
    "the end too early": "{0}</detected_kwlist>\n{1}{2}",
}


@pytest.mark.parametrize("size", [1, 7, 100, 1 << 18])
@pytest.mark.parametrize("name", INSIDE)
def test_what_stands_around_lines(name, size):
    lines = [DETECTED.format(k) for k in (1, 2, 3)]
    found = both(HEAD + INSIDE[name].format(*lines) + TAIL, size)
    if name == "alike":
        assert found[3] == [1.0, 2.0, 3.0]
        assert found[7] == [3, 4, 5]


GUARDED = {  # what may not be read as lines though lines stand in it; its message if it is refused
    "a comment": ("<!--\n{}</x>-->\n", ""),
    "a comment that begins behind a line": ("<!--{}</x>-->\n", ""),
    "a comment with hyphens": ("<!-- a\n-\n{}</x>- >\n-->\n", ""),
    "a comment that is none": ("<!--\n--\n>\n{}</x>-->\n", "line 5: this is not XML"),
    "an instruction": ("<?p\n{}</x>?>\n", ""),
    "CDATA of blanks": ("<![CDATA[\n]]>\n<!--{}-->\n", ""),
    "CDATA": ("<![CDATA[\n{}</x>]]>\n", "line 5: the text"),
}


@pytest.mark.parametrize("name", GUARDED)
def test_borders_of_blocks_anywhere(name):
    """No line in a comment, an instruction or CDATA is read as one, wherever a block ends."""
    layout, fault = GUARDED[name]
    line = DETECTED.format(1)
    inside = line + layout.format(line) + line
    data = (HEAD + inside + TAIL).encode()
    for border in range(len(HEAD), len(HEAD + inside) + 1):
        found = same([data[:border], data[border:]])
        if fault:
            assert fault in str(found[0])
        else:
            assert found[3] == [1.0, 1.0]


FAULTS = {
    "a number": (DETECTED.format("x"), "line 103: the tbeg 'x' is not a finite number"),
    "an element": ("<x/>\n", "line 103: <x> where <kw> was expected"),
    "an end": ("</x>\n", "line 103: an end tag that does not belong"),
    "a letter": ("<!-- \x01 -->\n", "line 103: this is not XML"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_lines_behind_those_read_at_once_keep_their_numbers(name):
    fault, said = FAULTS[name]
    [message] = both(HEAD + DETECTED.format(1) * 100 + fault + TAIL)
    assert said in message


@given(
    place=st.integers(0, len(HEAD + 6 * DETECTED + TAIL) - 1),
    letter=st.sampled_from([*"<>&\"'/! -x\t\n\r\0é", "<!--", "-->", "<![CDATA[", "]]>", "<kw "]),
    size=st.sampled_from([1, 50, 1 << 18]),
)
def test_a_change_anywhere_reads_as_with_the_parser(place, letter, size):
    text = HEAD + "".join(DETECTED.format(k) for k in range(6)) + TAIL
    both(text[:place] + letter + text[place + 1 :], size)


def test_lines_are_read_at_once(monkeypatch):
    seen = []

    def counting(lines, element, names):
        found = values_of(lines, element, names)
        seen.append(0 if found is None else len(found[0]))
        return found

    monkeypatch.setattr(kwslist, "values_of", counting)
    text = HEAD + "".join(DETECTED.format(k) for k in range(20_000)) + TAIL
    found = of_blocks(blocks(text), "f.xml")
    assert np.array_equal(found.start, np.arange(20_000))
    assert sum(seen) > 19_900


# Words of an RTTM

WORDS = "LEXEME F1 1 0.5 0.25 yes lex A 0.9\n"
IRREGULAR = {
    "a comment": ";; x\n",
    "a comment of as many fields": "# EXEME F1 1 0.5 0.25 yes lex A 0.9\n",
    "behind a line": WORDS.replace("\n", " ;; x\n"),
    "two blanks": WORDS.replace(" yes ", "  "),
    "a blank around": " " + WORDS.replace("yes ", ""),
    "a tab": WORDS.replace(" yes", "\tyes"),
    "a blank line": "\n",
    "small letters": WORDS.lower(),
    "ten fields": WORDS.replace("0.9", "0.9 1"),
    "eight fields": WORDS.replace(" 0.9", ""),
    "eleven fields": WORDS.replace("0.9", "0.9 1 2"),
    "an estimate": WORDS.replace("0.5", "0.5*"),
    "no time": WORDS.replace("0.5", "<NA>"),
    "a turn": "SPEAKER F1 1 0.5 0.25 <NA> <NA> A 0.9\n",
    "left out": "NON-LEX F1 1 0.5 0.25 <NA> laugh A 0.9\n",
    "unknown": "WORD F1 1 0.5 0.25 yes lex A 0.9\n",
    "a quote": WORDS.replace("yes", '"yes'),
    "letters": WORDS.replace("yes", "äé听"),
    "a wide blank": WORDS.replace("yes", "y\u00a0\u2028es"),
    "a page": WORDS.replace("yes", "y\x0ces"),
    "a carriage return": WORDS.replace("\n", "\r\n"),
}


def heard(text: str) -> list[object]:
    """What is read of words, or the fault that is told: the same line by line."""
    results: list[list[object]] = []
    for by_line in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if by_line:
                patch.setattr(lexemes, "_regular", lambda *_: None)
            try:
                found = lexemes.of_bytes(text.encode(), "f.rttm")
                frames = (found.words, found.turns)
                results.append([f.cast({pl.Categorical: pl.String}).rows() for f in frames])
                assert found.words.schema["line"] == pl.Int64
            except InputError as error:
                results.append([str(error)])
    assert results[0] == results[1]
    return results[0]


@pytest.mark.parametrize("name", IRREGULAR)
def test_lines_of_words(name):
    heard(WORDS + IRREGULAR[name] + WORDS)
    heard(IRREGULAR[name] * 2 + WORDS)


@given(
    place=st.integers(0, 3 * len(WORDS) - 1),
    letter=st.sampled_from([*' \t\n\r\0;#*-.<é"1', "  ", ";;", "SPEAKER", "nan"]),
)
def test_a_change_anywhere_reads_as_line_by_line(place, letter):
    text = WORDS * 3
    heard(text[:place] + letter + text[place + 1 :])


def test_regular_words_are_read_at_once():
    assert lexemes._regular((WORDS * 9).encode(), 5)["line"].to_list() == [*range(6, 15)]
