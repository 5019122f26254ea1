"""XML that is damaged, malformed or means harm: refused with its line, in little memory."""

import contextlib
import gzip
import io
import time
import tracemalloc
import types
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import InputError
from truecost.formats import opening, xml
from truecost.formats.kwslist import of_blocks, read_kwslist
from truecost.formats.searches import read_detections, read_ecf, read_kwlist

KW = '<kw file="F" channel="1" tbeg="10.5" dur="0.5" score="0.9" decision="YES"/>\n'
BEGIN = '<kwslist system_id="x">\n<detected_kwlist kwid="K1" search_time="1" oov_count="0">\n'
END = "</detected_kwlist>\n</kwslist>\n"
LIST = BEGIN + KW * 3 + END
LAUGHS = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">\n' for k in range(1, 10))


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write a file in an empty folder, and give its name."""
    monkeypatch.chdir(tmp_path)

    def call(content, name="f.xml"):
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        return name

    return call


def refused(path, reader=read_kwslist):
    """The message with which a file is refused."""
    with pytest.raises(InputError) as caught:
        reader(path)
    return str(caught.value)


HARMFUL = {
    "billion laughs": f'<!DOCTYPE k [\n<!ENTITY l0 "ha">\n{LAUGHS}]>\n<kwslist>&l9;</kwslist>',
    "external entity": '<!DOCTYPE k [<!ENTITY x SYSTEM "file:///etc/passwd">]><kwslist>&x;</kwslist>',
    "parameter entity": '<!DOCTYPE k [<!ENTITY % p SYSTEM "http://h/x">%p;]><kwslist/>',
    "external DTD": '<!DOCTYPE kwslist SYSTEM "http://example.org/k.dtd"><kwslist/>',
    "public DTD": '<!DOCTYPE kwslist PUBLIC "-//N//EN" "k.dtd"><kwslist/>',
    "default attributes": '<!DOCTYPE k [<!ATTLIST kw decision CDATA "YES">]><kwslist/>',
}


@pytest.mark.parametrize("name", HARMFUL)
@pytest.mark.parametrize("reader", [read_kwslist, read_kwlist, read_ecf, read_detections])
def test_document_types_are_refused_at_once(put, name, reader):
    said = refused(put("<?xml version='1.0'?>\n" + HARMFUL[name]), reader)
    assert said.startswith("f.xml, line 2: a document type (<!DOCTYPE>), which may declare ent")


def test_nothing_behind_a_document_type_is_read(put):
    assert "line 1: a document type" in refused(put("<!DOCTYPE k [\n<!ENTITY broken"))


MALFORMED = {  # content, message
    "empty": ("", "f.xml: the file is empty; expected <kwslist> or <stdlist>"),
    "blank": (" \n\n", "f.xml, line 3: the XML ends before it is complete: is the file cut short?"),
    "text": ("hello\n", "f.xml, line 1: this is not XML (syntax error); expected <kwslist> or"),
    "a table": ("query,document\nK1,F\n", "line 1: this is not XML (syntax error)"),
    "parquet": (b"PAR1\0\0\1\2", "line 1: this is not XML (not well-formed (invalid token))"),
    "another root": ("<html/>", "line 1: <html> where <kwslist>, <stdlist> was expected"),
    "list of queries": ("<kwlist/>", "<kwlist> where <kwslist>, <stdlist> was expected; this is a "
                        "file of format kwlist"),
    "excerpts": ("\n\n<ecf/>", "line 3: <ecf> where"),
    "unclosed": (BEGIN + KW, "line 4: the XML ends before it is complete: is the file cut short?"),
    "unclosed tag": (BEGIN + KW[:30], "line 3: the XML ends before it is complete"),
    "unclosed comment": (LIST + "<!-- ", "line 8: the XML ends before it is complete"),
    "another end": (BEGIN + KW + "</kwslist>", "line 4: an end tag that does not belong to"),
    "two roots": (LIST + LIST, "line 8: this is not XML (junk after document element)"),
    "text behind": (LIST + "x", "line 8: this is not XML (junk after document element)"),
    "unknown element": (BEGIN + KW + "<hit/>" + END, "line 4: <hit> where <kw> was expected"),
    "element of a stdlist": (BEGIN + "<term/>" + END, "line 3: <term> where <kw> was expected"),
    "wrong level": (f"<kwslist>\n{KW}</kwslist>", "line 2: <kw> where <detected_kwlist> was exp"),
    "nested": (BEGIN + KW.replace("/>", ">") + KW + "</kw>" + END,
               "line 4: <kw> where no element was expected"),
    "a lost bracket": (BEGIN + KW + KW[1:] + END, "line 4: the text 'kw file=\"F\" channel=\"1\""),
    "text in an element": (LIST.replace("/>\n", ">yes</kw>\n"), "line 3: the text 'yes' where"),
    "an entity": (LIST.replace('"x"', '"&eacute;"'), "line 1: an entity that XML does not have;"),
    "an ampersand": (LIST.replace('"x"', '"a & b"'), "this is not XML: & is written &amp; and <"),
    "a bracket": (LIST.replace('"x"', '"a<b"'), "line 1: this is not XML: & is written &amp; and"),
    "an attribute twice": (LIST.replace("dur=", "tbeg="), "line 3: this is not XML (duplicate att"),
    "no quotes": (LIST.replace('"0.9"', "0.9"), "line 3: this is not XML (not well-formed"),
    "NUL": (LIST.replace("10.5", "\0"), "line 3: this is not XML (not well-formed (invalid"),
    "NUL as a number": (LIST.replace("10.5", "&#0;"), "this is not XML (reference to invalid char"),
    "a namespace": (LIST.replace("kwslist", "k:kwslist"), "line 1: <k:kwslist> where <kwslist>"),
    "include": (BEGIN + '<xi:include href="/etc/passwd"/>' + END, "<xi:include> where <kw> was"),
    "declaration late": ("\n<?xml version='1.0'?><kwslist/>", "line 2: this is not XML (XML or"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(put, name):
    content, said = MALFORMED[name]
    assert said in refused(put(content))


ACCENTED = LIST.replace('"x"', '"é"')
LATIN = ACCENTED.encode("latin-1")


def declared(encoding):
    return f"<?xml version='1.0' encoding='{encoding}'?>\n{ACCENTED}"


ENCODINGS = {  # bytes, message
    "latin-1, not declared": (LATIN, "f.xml, line 1: the text is not UTF-8; save the file"),
    "latin-1, declared UTF-8": (declared("utf-8").encode("latin-1"), "line 2: the text is not UTF"),
    "UTF-8, declared ASCII": (declared("us-ascii").encode(), "line 2: the text is not US-ASC"),
    "UTF-8, declared UTF-16": (declared("utf-16").encode(), "line 1: the declared encoding is not"),
    "UTF-16, declared UTF-8": (declared("utf-8").encode("utf-16"), "the declared encoding is not"),
    "GB18030": (declared("GB18030").encode("gb18030"), "line 1: the encoding 'GB18030' is not"),
    "Big5": (declared("Big5").encode("latin-1"), "the encoding 'Big5' is not read"),
    "utf8": (declared("utf8").encode(), "line 1: the encoding 'utf8' is not read; write it UTF-8"),
    "utf-7": (declared("utf-7").encode(), "the encoding 'utf-7' is not read"),
    "no encoding": (declared("rot13").encode(), "the encoding 'rot13' is not read"),
    "code": (declared("unicode_escape").encode(), "the encoding 'unicode_escape' is not read"),
    "unknown": (declared("iso-8859-12").encode(), "the encoding 'iso-8859-12' is not read"),
    "UTF-32": (LIST.encode("utf-32"), "line 1: this is not XML"),
    "half a letter": (LIST.encode()[:12] + b"\xc3", "line 1: the XML ends before it is complete"),
    "half a letter within": (ACCENTED.encode().replace(b"\xa9", b""),
                             "line 1: the text is not UTF-8"),
    "surrogates": (ACCENTED.encode().replace(b"\xc3\xa9", b"\xed\xa0\x80"),
                   "line 1: the text is not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENCODINGS)
def test_encodings_that_are_wrong_or_not_read(put, name):
    data, said = ENCODINGS[name]
    assert said in refused(put(data))


@pytest.mark.parametrize(
    "data",
    [
        ACCENTED.encode(),
        ACCENTED.encode("utf-8-sig"),
        ACCENTED.encode("utf-16"),
        declared("UTF-8").encode(),
        declared("utf-16").encode("utf-16"),
        declared("utf-16").encode("utf-16-be"),
        declared("ISO-8859-1").encode("latin-1"),
        declared("windows-1252").encode("cp1252"),
        declared("ISO-8859-15").encode("iso-8859-15"),
        LIST.replace('"x"', '"&#233;"').replace("\n", "\r\n").encode("ascii"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("packed", [False, True])
def test_encodings_that_are_read(put, data, packed):
    for reader in (read_kwslist, read_detections):
        found = reader(put(gzip.compress(data) if packed else data))
        assert found.header == {"system_id": "é"}
        assert found.start.tolist() == [10.5] * 3


@pytest.mark.parametrize("name", [n for n in ENCODINGS if n != "half a letter"])
def test_encodings_in_blocks_of_any_size(name):
    data, said = ENCODINGS[name]
    for size in (1, 2, 7):
        assert said in refused("f.xml", lambda s, n=size: of_blocks(opening.pieces(data, n), s))


def big(queries=20, detections=25):
    """A list of some 50,000 bytes, whose end is a comment."""
    answer = '<detected_kwlist kwid="{}">\n' + KW * detections + "</detected_kwlist>\n"
    inside = "".join(answer.format(f"K{k}") for k in range(queries))
    return f"<kwslist>\n{inside}</kwslist>\n<!-- end -->\n".encode()


@pytest.mark.parametrize("packed", [False, True])
def test_truncated_anywhere(put, packed):
    """Cut at every hundredth byte a list is refused, and never read in part."""
    data = big()
    whole = read_kwslist(put(data))
    data, step = (gzip.compress(data), 1) if packed else (data, 100)
    root = len(data) if packed else data.index(b"</kwslist>") + len(b"</kwslist>")
    for end in range(0, len(data), step):
        path = put(data[:end])
        if packed or end < root:
            assert refused(path).startswith("f.xml")
        elif end in (root, len(data) - 1):
            assert len(read_kwslist(path)) == len(whole)


def test_truncated_near_the_end(put):
    data = big(2, 2)
    root = data.index(b"</kwslist>") + len(b"</kwslist>")
    for end in range(root):
        assert "f.xml" in refused(put(data[:end]))
    assert len(read_kwslist(put(data[:root]))) == 4


@given(data=st.binary(max_size=300))
def test_any_bytes(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.xml"
    path.write_bytes(data)
    for reader in (read_kwslist, read_kwlist, read_ecf):
        with pytest.raises(InputError, match=r"any\.xml"):
            reader(str(path))


@given(st.integers(0, len(LIST) - 1), st.sampled_from(' <>&"/=xé\n0-9\0;!?]'), st.integers(0, 3))
def test_a_letter_changed(tmp_path_factory, at, letter, cut):
    """One letter that is changed is seen, or all detections are there."""
    path = tmp_path_factory.getbasetemp() / "changed.xml"
    path.write_text(LIST[:at] + letter + LIST[at + cut :], encoding="utf-8")
    with contextlib.suppress(InputError):
        assert len(read_kwslist(str(path))) == 3


TOO_LONG = "an element, a comment or a text longer than 1 MiB"


def lazily(path, monkeypatch, pieces):
    """A file that would not fit: its blocks are made when they are asked for."""
    for module in ("kwslist", "terms"):
        monkeypatch.setattr(f"truecost.formats.{module}.blocks", lambda _: pieces)


@pytest.mark.parametrize(
    "begin", ['<kwslist system_id="', "<kwslist><!-- ", "<kwslist ", "<kwslist><![CDATA[", "<a"]
)
def test_huge_tags_are_refused_before_they_fill_the_memory(monkeypatch, begin):
    given = []

    def pieces():
        yield begin.encode()
        while True:
            given.append(1)
            yield (b'a="' if begin.endswith("t ") else b"a") * (1 << 16)

    lazily("x", monkeypatch, pieces())
    said = refused("x")
    assert TOO_LONG in said or "the text 'aaa" in said or "this is not XML" in said
    assert len(given) <= 40


def test_huge_texts_are_refused(monkeypatch):
    def pieces():
        yield b"<kwlist><kw kwid='K'><kwtext>"
        while True:
            yield b"a\n" * (1 << 15)

    lazily("x", monkeypatch, pieces())
    assert TOO_LONG in refused("x", read_kwlist)


LONG = "\n" * 200_000
UNFINISHED = {  # a long way to the end of what the parser has begun
    "a tag": (BEGIN + KW.replace("<kw ", f"<kw {LONG}") + END, 1),
    "an attribute": (BEGIN + KW.replace('"F"', f'"{LONG}F"') + END, 1),
    "the head": (LIST.replace("<kwslist ", f"<kwslist {LONG}"), 3),
    "the head of a query": (LIST.replace('"K1"', f'"{LONG}K1"'), 3),
    "a comment": (BEGIN + f"<!--{LONG}-->" + KW + END, 1),
    "a comment before all": (f"<!--{LONG}-->{LIST}", 3),
    "an instruction": (BEGIN + f"<?x {LONG}?>" + KW + END, 1),
    "lines that are commented out": (BEGIN + f"<!--\n{KW * 10_000}-->\n" + KW + END, 1),
    "a letter a line": (BEGIN + "<!--" + "a\n" * 200_000 + "-->" + KW + END, 1),
}


@pytest.mark.parametrize("name", UNFINISHED)
def test_what_ends_late_is_read_in_linear_time(put, name):
    content, detections = UNFINISHED[name]
    path = put(content)
    begin = time.process_time()
    assert len(read_kwslist(path)) == detections
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("end", ["></kw>\n", ">\n</kw>\n", ">  </kw>\n\n"])
def test_detections_with_end_tags_go_to_the_parser_together(end, monkeypatch):
    parts, read = [], xml._Reading._read
    monkeypatch.setattr(
        xml._Reading, "_read", lambda it, part: (parts.append(part), read(it, part))
    )
    data = BEGIN + KW.replace("/>\n", end) * 1000 + END
    assert len(of_blocks([data.encode()], "f.xml")) == 1000
    assert len(parts) < 10


def test_deep_nesting_is_refused_at_its_second_level(put):
    assert "<a> where <kwslist>" in refused(put("<a>" * 1_000_000))
    deep = "<kwlist><kw kwid='K'>" + "<kwinfo>" * 1_000_000
    assert "<kwinfo> where <attr> was expected" in refused(put(deep), read_kwlist)


def test_many_attributes_are_read_once(put):
    many = " ".join(f'a{k}="{k}"' for k in range(50_000))
    assert len(read_kwslist(put(f"<kwslist {many}></kwslist>")).header) == 50_000


def bomb(size):
    """Blanks between two tags, packed a thousandfold."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packer.compress(b"<kwslist>")]
    parts += [packer.compress(b" " * (1 << 20)) for _ in range(size >> 20)]
    return b"".join([*parts, packer.compress(b"</kwslist>"), packer.flush()])


@pytest.mark.parametrize("reader", [read_kwslist, read_detections])
def test_a_gzip_bomb_is_never_unpacked_as_a_whole(put, reader):
    data = bomb(1 << 27)
    assert len(data) < 200_000
    path = put(data, "bomb.xml.gz")
    tracemalloc.start()
    found = reader(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 0
    assert peak < 1 << 23


GZIPPED = {
    "cut short": (lambda data: data[:-1], "f.xml: the gzip file ends too early"),
    "no end": (lambda data: data[:-8], "the gzip file ends too early"),
    "damaged": (lambda data: data[:20] + b"\xff\xff" + data[22:], "the gzip data are damaged"),
    "wrong check": (lambda data: data[:-8] + b"\0" * 8, "the gzip data are damaged"),
    "text behind": (lambda data: data + b"text", "the gzip data are damaged"),
    "twice": (gzip.compress, "f.xml: the file is gzipped twice: unpack it once (gunzip)"),
    "empty": (lambda _: gzip.compress(b""), "f.xml: the file is empty"),
}


@pytest.mark.parametrize("name", GZIPPED)
def test_gzip_data_that_are_damaged(put, name):
    change, said = GZIPPED[name]
    assert said in refused(put(change(gzip.compress(big()))))


def test_gzip_data_of_several_members(put):
    data = big()
    members = b"".join(gzip.compress(data[k : k + 999]) for k in range(0, len(data), 999))
    assert len(read_kwslist(put(members + b"\0" * 100))) == 500


def test_a_file_that_is_not_there(put):
    assert refused("none.xml") == "none.xml: there is no such file or folder"
    assert "this is a folder: name a file" in refused(".")


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(monkeypatch, packed):
    data = gzip.compress(LIST.encode()) if packed else LIST.encode()
    for reader in (read_kwslist, read_detections):
        stdin = types.SimpleNamespace(buffer=io.BytesIO(data))
        monkeypatch.setattr("sys.stdin", stdin)
        found = reader("-")
        assert found.source == "standard input"
        assert found.line.tolist() == [3, 4, 5]


def test_memory_does_not_grow_with_the_text(tmp_path):
    """200,000 detections, 19 MB of text: the arrays, and little more, are in memory."""
    path = tmp_path / "big.kwslist.xml"
    with path.open("w") as file:
        file.write("<kwslist>\n")
        for query in range(200):
            file.write(f'<detected_kwlist kwid="K{query}" search_time="1" oov_count="0">\n')
            file.writelines(
                f'<kw file="recording_{k % 90:05}" channel="1" tbeg="{k / 8:.3f}" dur="0.47" '
                f'score="{(k * 7919 % 1000) / 1000:.6f}" decision="NO"/>\n'
                for k in range(1000)
            )
            file.write("</detected_kwlist>\n")
        file.write("</kwslist>\n")
    tracemalloc.start()
    found = read_kwslist(str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 200_000
    assert found.start.sum() == 200 * np.arange(1000).sum() / 8
    assert path.stat().st_size > 18e6
    assert peak < 18e6


def test_files_of_xml_are_known_by_their_root():
    for root, kind in xml.ROOTS.items():
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            data = f"<?xml version='1.0'?>\n<!-- c -->\n<{root} a='b'>".encode(encoding)
            assert xml.looks_like_xml(data)
            assert xml.format_of(data, "f") == kind
    for data in (b"", b"<", b"<a/>", b"<!DOCTYPE kwslist>", b"<!-- "):
        with pytest.raises(InputError):
            xml.format_of(data, "f")
    assert not xml.looks_like_xml(b"query,document\n<a>,b\n")
