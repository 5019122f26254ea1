"""Files of a search for terms: detections, queries, audio, words, occurrences."""

import gzip
import io

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import InputError, UsageError
from truecost.formats import read
from truecost.formats import text as field_lines
from truecost.formats.kwslist import ANSWERS, read_kwslist
from truecost.formats.searches import detections_of_table as of_table
from truecost.formats.searches import read_detections, read_ecf, read_kwlist, read_occurrences
from truecost.formats.terms import document_of, read_lexemes

KWSLIST = """<?xml version="1.0" encoding="UTF-8"?>
<!-- a comment -->
<kwslist kwlist_filename="t.kwlist.xml" language="english" system_id="s" max_score="1">
<detected_kwlist kwid="K2" search_time="24.5" oov_count="0">
<kw file="audio/F1.sph" channel="1" tbeg="10.25" dur="0.5" score="0.75" decision="YES"/>
<kw decision="no" file="F2" score="-1e-3" channel="2" dur="0" tbeg="0" more="x"></kw>
</detected_kwlist>
<detected_kwlist kwid="K1" oov_count="NA"/>
<detected_kwlist kwid="K3"

  search_time="NA" oov_count="2">
<kw file="F1" channel="1" tbeg=" 3 " dur="+1.5e0" score="7"
    decision=" Yes "/>
</detected_kwlist>
</kwslist>
"""
STDLIST = (
    KWSLIST.replace("kwslist", "stdlist")
    .replace("detected_kwlist kwid", "detected_termlist termid")
    .replace("detected_kwlist", "detected_termlist")
    .replace("search_time", "term_search_time")
    .replace("oov_count", "oov_term_count")
    .replace("kwlist_filename", "termlist_filename")
    .replace("<kw ", "<term ")
    .replace("</kw>", "</term>")
)
DETECTIONS = [
    ("K2", "F1", "1", 10.25, 0.5, 0.75, True, 5),
    ("K2", "F2", "2", 0.0, 0.0, -0.001, False, 6),
    ("K3", "F1", "1", 3.0, 1.5, 7.0, True, 12),
]


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write a file in an empty folder, and give its name."""
    monkeypatch.chdir(tmp_path)

    def call(content, name="f.xml"):
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        return name

    return call


def rows(found):
    """A list of detections, one by one, with texts in place of codes."""
    texts = [
        [names[code] for code in codes]
        for names, codes in (
            (found.queries, found.query),
            (found.documents, found.document),
            (found.channels, found.channel),
        )
    ]
    numbers = (found.start, found.duration, found.score, found.accepted, found.line)
    return list(zip(*texts, *(column.tolist() for column in numbers), strict=True))


def refused(reader, *arguments, error=InputError):
    """The message with which a file is refused."""
    with pytest.raises(error) as caught:
        reader(*arguments)
    return str(caught.value)


# Detections


@pytest.mark.parametrize("name", ["f.xml", "f.kwslist.xml.gz", "list", "list.gz"])
@pytest.mark.parametrize("text", [KWSLIST, STDLIST, KWSLIST.replace("\n", "\r\n")])
@pytest.mark.parametrize("reader", [read_kwslist, read_detections])
def test_a_kwslist(put, name, text, reader):
    data = text.encode()
    found = reader(put(gzip.compress(data) if name.endswith("gz") else data, name))
    assert rows(found) == DETECTIONS
    assert found.answers.rows() == [("K2", 24.5, 0, 4), ("K1", None, None, 8), ("K3", None, 2, 9)]
    assert dict(found.answers.schema) == ANSWERS
    assert found.queries == ("K2", "K1", "K3")
    assert found.header["system_id"] == "s"
    assert found.header["max_score"] == "1"
    assert [found.where(k) for k in range(3)] == ["line 5", "line 6", "line 12"]
    assert (found.source, len(found)) == (name, 3)
    kinds = [found.query, found.document, found.channel, found.start, found.accepted, found.line]
    assert [str(kind.dtype) for kind in kinds] == ["int32"] * 3 + ["float64", "bool", "int64"]


@pytest.mark.parametrize("size", [1, 3, 50, 1 << 20])
def test_blocks_of_any_size(put, size, monkeypatch):
    monkeypatch.setattr("truecost.formats.opening.BLOCK", size)
    monkeypatch.setattr("truecost.formats.opening.blocks.__defaults__", (size,))
    assert rows(read_kwslist(put(KWSLIST))) == DETECTIONS


def test_a_system_that_found_nothing(put):
    for text in ("<kwslist/>", '<kwslist>\n<detected_kwlist kwid="K"/></kwslist>'):
        found = read_kwslist(put(text))
        assert len(found) == 0
        assert found.answers.height == len(found.queries) == text.count("kwid")
        assert "f.xml: there are no detections" in refused(read, "f.xml", None, "terms")


KW = '<kw file="F1" channel="1" tbeg="3" dur="1" score="0.5" decision="YES"/>'
LAYOUT = 'expected <kw file="NAME" channel="1" tbeg="SECONDS" dur="SECONDS" score="NUMBER" decision'
FAULTS = {  # what is changed, into what, message
    "no kwid": (
        'kwid="K"',
        "",
        "line 2: there is no attribute 'kwid'; expected <detected_kwlist k",
    ),
    "empty kwid": ('kwid="K"', 'kwid=" "', "line 2: the kwid is empty; expected <detected_kwlist"),
    "another id": ("kwid", "termid", "line 2: there is no attribute 'kwid'"),
    "search time": (
        'search_time="1"',
        'search_time="x"',
        "line 2: the search_time 'x' is not a number",
    ),
    "endless": (
        'search_time="1"',
        'search_time="inf"',
        "the search_time 'inf' is not a number; expec",
    ),
    "negative": ('search_time="1"', 'search_time="-1"', "a number from 0, or NA"),
    "oov": (
        'oov_count="0"',
        'oov_count="0.5"',
        "line 2: the oov_count '0.5' is not a count; expected",
    ),
    "no file": ('file="F1"', "", "line 3: there is no attribute 'file'; " + LAYOUT),
    "no channel": ('channel="1"', "", "line 3: there is no attribute 'channel'"),
    "no tbeg": ('tbeg="3"', "", "line 3: there is no attribute 'tbeg'"),
    "no dur": ('dur="1"', "", "line 3: there is no attribute 'dur'"),
    "no score": ('score="0.5"', "", "line 3: there is no attribute 'score'"),
    "no decision": ('decision="YES"', "", "line 3: there is no attribute 'decision'"),
    "case of a name": ("score=", "Score=", "line 3: there is no attribute 'score'"),
    "empty file": ('"F1"', '" "', "line 3: the file ' ' is not a name; expected <kw"),
    "folder": ('"F1"', '"audio/"', "line 3: the file 'audio/' is not a name"),
    "empty channel": ('channel="1"', 'channel=""', "line 3: the channel '' is not a name"),
    "tbeg is text": (
        'tbeg="3"',
        'tbeg="x"',
        "line 3: the tbeg 'x' is not a finite number; " + LAYOUT,
    ),
    "comma": ('tbeg="3"', 'tbeg="3,5"', "line 3: the tbeg '3,5' is not a finite number"),
    "underscore": ('tbeg="3"', 'tbeg="1_0"', "line 3: the tbeg '1_0' is not a finite number"),
    "other digits": ('tbeg="3"', 'tbeg="٣"', "line 3: the tbeg '٣' is not a finite number"),
    "empty": ('dur="1"', 'dur=""', "line 3: the dur '' is not a finite number"),
    "negative tbeg": ('tbeg="3"', 'tbeg="-0.1"', "line 3: the tbeg '-0.1' is negative"),
    "negative dur": ('dur="1"', 'dur="-1e-9"', "line 3: the dur '-1e-9' is negative; expected <kw"),
    "endless dur": ('dur="1"', 'dur="inf"', "line 3: the dur 'inf' is not a finite number"),
    "minus infinity": ('dur="1"', 'dur="-inf"', "line 3: the dur '-inf' is not a finite number"),
    "no score at all": ('"0.5"', '"NaN"', "line 3: the score 'NaN' is not a finite number"),
    "huge": ('"0.5"', '"1e999"', "line 3: the score '1e999' is not a finite number"),
    "long": ('"0.5"', f'"{"9" * 400}"', "line 3: the score '99999"),
    "decision": ('"YES"', '"MAYBE"', "line 3: the decision 'MAYBE' is not YES or NO; " + LAYOUT),
    "decision as number": ('"YES"', '"1"', "line 3: the decision '1' is not YES or NO"),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("others", [0, 3, 9000])
def test_faults_of_detections(put, name, others):
    """A fault is named with its line, whatever stands before and behind it."""
    old, new, said = FAULTS[name]
    kw = KW.replace(old, new)
    answer = '<detected_kwlist kwid="K" search_time="1" oov_count="0">'.replace(old, new)
    before = f'<kwslist><detected_kwlist kwid="A">{KW * (others // 2)}</detected_kwlist>\n'
    after = f"\n{KW * others}</detected_kwlist></kwslist>"
    assert said in refused(read_kwslist, put(f"{before}{answer}\n{kw}{after}"))


def test_a_query_is_listed_once(put):
    text = KWSLIST.replace('kwid="K3"', 'kwid=" K2"')
    said = "f.xml, line 9: the kwid 'K2' is already in line 4; expected each query once"
    assert refused(read_kwslist, put(text)).startswith(said)
    text = STDLIST.replace('termid="K3"', 'termid="K1"')
    assert "line 9: the termid 'K1' is already in line 8" in refused(read_kwslist, put(text))


def test_numbers_keep_all_their_digits(put):
    texts = ["0.1", "1e-300", "123456.789012345", "5e-324", "1.7976931348623157e69", "+.5", "7."]
    kws = "".join(KW.replace('"0.5"', f'"{text}"') for text in texts)
    found = read_kwslist(
        put(f'<kwslist><detected_kwlist kwid="K">{kws}</detected_kwlist></kwslist>')
    )
    assert found.score.tolist() == [float(text) for text in texts]


def test_a_list_of_200_000_detections(put):
    kws = "".join(
        KW.replace('"3"', f'"{k}"').replace("F1", f"F{k % 7}") + "\n" for k in range(1000)
    )
    answers = "".join(
        f'<detected_kwlist kwid="K{k}">\n{kws}</detected_kwlist>\n' for k in range(200)
    )
    found = read_kwslist(put(f"<kwslist>\n{answers}</kwslist>"))
    assert len(found) == 200_000
    assert found.query.tolist() == np.repeat(np.arange(200), 1000).tolist()
    assert found.start.tolist() == list(range(1000)) * 200
    assert found.document.tolist() == [k % 1000 % 7 for k in range(200_000)]
    assert found.line[[0, 999, 1000, -1]].tolist() == [3, 1002, 1005, 200_400]


# Tables of detections

CSV = """query,document,start,end,score,decision,channel,note
K2,audio/F1.wav,10.25,10.75,0.75,YES,1,a
K2,F2,0,0,-1e-3,no,2,
K3,F1,3,4.5,7,yes,1,b
"""


def parquet(frame):
    stream = io.BytesIO()
    frame.write_parquet(stream)
    return stream.getvalue()


def test_a_table_of_detections(put):
    table = pl.read_csv(CSV.encode())
    contents = {
        "f.csv": CSV,
        "f.tsv": CSV.replace(",", "\t"),
        "f.csv.gz": gzip.compress(CSV.encode()),
        "f.txt": CSV,
        "f.parquet": parquet(table),
        "f.ndjson": table.write_ndjson(),
    }
    for name, content in contents.items():
        found = read_detections(put(content, name))
        first = 0 if name == "f.parquet" else 1 if name == "f.ndjson" else 2
        assert rows(found) == [
            (*row[:-1], line) for row, line in zip(DETECTIONS, range(first, 9), strict=False)
        ], name
        assert found.noun == ("row" if name == "f.parquet" else "line")
        assert found.answers.rows() == [("K2", None, None, first), ("K3", None, None, first + 2)]
        assert found.header == {}


def test_columns_of_other_names_and_types(put):
    frame = pl.DataFrame(
        {"term": [7, 8, 7], "file": ["a.flac", "b", "a"], "from": [1, 2, 3], "dur": [0.5, 1, 0],
         "llr": [1, -2, 3], "hit": [True, False, True], "end": ["x", "y", "z"]}
    )  # fmt: skip
    columns = {"query": "term", "document": "file", "start": "from", "duration": "dur"}
    columns |= {"score": "llr", "decision": "hit"}
    found = read_detections(put(parquet(frame), "f.parquet"), None, columns)
    assert rows(found) == [
        ("7", "a", "1", 1.0, 0.5, 1.0, True, 0),
        ("8", "b", "1", 2.0, 1.0, -2.0, False, 1),
        ("7", "a", "1", 3.0, 0.0, 3.0, True, 2),
    ]
    assert found.channels == ("1",)


TABLE_FAULTS = {  # what is changed, into what, message, kind of error
    "no query": ("query", "term", "f.csv: there is no column 'query' for the query", UsageError),
    "no score": ("score", "points", "map one with score=COLUMN", UsageError),
    "no decision": ("decision", "hit", "there is no column 'decision'", UsageError),
    "no end": (",end,", ",until,", "f.csv: there is neither an end nor a duration; the columns are "
               "query, document, start, until, score", UsageError),
    "both": (",note", ",duration", "there are both an end and a duration; choose one: "
             "end=COLUMN or duration=COLUMN", UsageError),
    "empty query": ("K3", "", "f.csv: 1 row without a query: empty at line 4", InputError),
    "empty file": ("F2", " ", "1 row without a document: empty at line 3", InputError),
    "empty channel": (",no,2", ",no,", "1 row without a channel: empty at line 3", InputError),
    "no number": ("10.25", "x", "is not a number: 'x' at line 2", InputError),
    "no time": ("10.25", "", "1 row whose start is not a finite number: nan at line 2", InputError),
    "negative": ("10.25", "-1", "1 row whose start is negative: -1.0 at line 2", InputError),
    "end before": ("10.75", "9", "1 row with an end before its start: 10.25 to 9.0 at line 2",
                   InputError),
    "NaN": (",0.75", ",nan", "1 row whose score is not a finite number: nan at line 2", InputError),
    "infinite": (",0.75", ",inf", "1 row whose score is not a finite number: inf", InputError),
    "decision": ("YES", "maybe", "1 row whose decision is not YES or NO (nor 1 or 0, true or false)"
                 ": 'maybe' at line 2", InputError),
    "no decision at all": ("YES", "", "1 row without a decision: empty at line 2", InputError),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE_FAULTS)
def test_faults_of_tables(put, name):
    old, new, said, error = TABLE_FAULTS[name]
    assert said in refused(read_detections, put(CSV.replace(old, new, 1), "f.csv"), error=error)


def test_words_of_decisions(put):
    for yes, no in (("YES", "NO"), ("yes", "No"), ("1", "0"), ("true", "FALSE"), ("True", "false")):
        text = CSV.replace("YES", yes).replace(",no,", f",{no},")
        assert read_detections(put(text, "f.csv")).accepted.tolist() == [True, False, True]
    for word in ("1", "true"):  # the standard has two words
        said = refused(read_detections, put(KWSLIST.replace('"YES"', f'"{word}"', 1)))
        assert f"the decision '{word}' is not YES or NO; expected <kw " in said


@pytest.mark.parametrize("reader", [read_detections, read_kwlist, read_ecf, read_occurrences])
def test_a_file_without_a_header_line(put, reader):
    text = "K2,F1,10.25,0.5,0.75,YES\nK3,F1,11,0.5,0.7,YES\n"
    for name, content in (("f.csv", text), ("f.tsv", text.replace(",", "\t"))):
        said = refused(reader, put(content, name))
        assert said.startswith(f"{name}, line 1: there is no column '")
        assert "the columns are K2, F1, 10.25" in said
        assert said.endswith(": is the header line missing?")


RTTM = "LEXEME F1 1 0.1 0.2 yes lex A <NA>\n"


@pytest.mark.parametrize(
    ("reader", "wanted"),
    [
        (read_detections, "a kwslist or a table of detections"),
        (read_kwlist, "a kwlist or a table of queries"),
        (read_ecf, "an ecf or a table of documents"),
        (read_occurrences, "a table of occurrences"),
    ],
)
def test_an_rttm_in_place_of_another_file(put, reader, wanted):
    for name in ("f.rttm", "f.txt"):
        assert refused(reader, put(RTTM, name)) == f"{name}: this is rttm; {wanted} was expected"


@pytest.mark.parametrize(
    ("text", "kind"),
    [("<ecf/>", "ecf"), (KWSLIST, "kwslist"), (STDLIST, "kwslist"), ("<!-- a --><a/>", "XML")],
)
def test_xml_in_place_of_an_rttm(put, text, kind):
    for data in (text.encode(), text.replace("UTF-8", "UTF-16").encode("utf-16")):
        said = refused(read_lexemes, put(data))
        assert said.startswith(f"f.xml: this is {kind}; an rttm was expected: type file chnl")


def test_detections_are_no_occurrences(put):
    for name, text in (("f.csv", CSV), ("f.xml", KWSLIST), ("g.xml", STDLIST)):
        said = refused(read_occurrences, put(text, name))
        assert said.startswith(f"{name}: this is a list of detections, with score and decision; ")
    queries = "<kwlist><kw kwid='K1'/></kwlist>"
    said = refused(read_occurrences, put(queries))
    assert said == "f.xml: this is kwlist; a table of occurrences was expected"


def test_formats_are_stated_or_known(put):
    assert rows(read_detections(put(KWSLIST, "f.csv"), "kwslist")) == DETECTIONS
    assert rows(read_detections(put(KWSLIST, "f.csv"))) == DETECTIONS
    said = refused(read_detections, put(CSV, "f.xml"), "kwslist")
    assert said.startswith("f.xml, line 1: this is not XML (syntax error); expected <kwslist>")
    said = refused(read_detections, "f.xml", "stm", error=UsageError)
    assert said == (
        "input format 'stm' is not known for terms: choose one of kwslist, kwlist, ecf, rttm, csv, "
        "tsv, parquet, ndjson"
    )
    assert "empty; expected detections of queries" in refused(read_detections, put("", "f.csv"))
    assert "is the ending of format npz" in refused(
        read_detections, put("a", "f.npz"), error=UsageError
    )


def test_any_file_is_read_as_a_table(put):
    table = read(put(KWSLIST), None, "terms")
    assert table.layout == "kwslist: detections of queries"
    assert table.frame.rows() == [(*r[:6], "YES" if r[6] else "NO") for r in DETECTIONS]
    assert [table.where(k) for k in range(3)] == ["line 5", "line 6", "line 12"]
    assert rows(of_table(table)) == DETECTIONS
    assert read(put(STDLIST, "list"), "kwslist", "terms").frame.equals(table.frame)
    assert read(put(ECF), None, "terms").columns[:3] == ["document", "channel", "start"]
    assert read(put(KWLIST), None, "terms").columns == ["query", "text", "NGram", "Syllables"]
    for name in ("f.rttm", "f"):
        assert read(put(RTTM, name), None, "terms").texts("word", "word")[0] == "Yes"
    assert read(put("a,b\n1,2\n", "f"), None, "terms").columns == ["a", "b"]


# Queries

KWLIST = """<kwlist ecf_filename="e.ecf.xml" version="1" language="x" encoding="UTF-8"
        compareNormalize="lowercase">
<kw kwid="K2"><kwtext>Äh &amp;  why
 not</kwtext>
  <kwinfo><attr><name>NGram</name><value>3</value></attr>
    <attr><value> 01 </value><name>Syllables</name></attr></kwinfo></kw>
<kw kwid="K1"/>
<kw kwid="K3"><kwtext></kwtext><attr><name>NGram</name><value></value></attr></kw>
</kwlist>
"""
QUERIES = [
    ("K2", "Äh & why not", "3", "01", 3),
    ("K1", None, None, None, 7),
    ("K3", "", "", None, 8),
]


@pytest.mark.parametrize("root", ["kwlist", "termlist", "tlist"])
def test_a_kwlist(put, root):
    text = KWLIST
    if root != "kwlist":
        for new, old in (("kwtext", "termtext"), ("kwinfo", "terminfo"), ("kwid", "termid")):
            text = text.replace(new, old)
        text = text.replace("kwlist", root).replace("<kw ", "<term ").replace("</kw>", "</term>")
    for data in (text.encode(), gzip.compress(text.encode())):
        found = read_kwlist(put(data))
        assert found.frame.columns == ["query", "text", "NGram", "Syllables", "line"]
        assert found.frame.rows() == QUERIES
        assert found.header["compareNormalize"] == "lowercase"
        assert found.header["ecf_filename"] == "e.ecf.xml"
        assert (found.source, len(found), found.where(1)) == ("f.xml", 3, "line 7")


def test_a_table_of_queries(put):
    found = read_kwlist(put("query,text,kind\nK2,a b,x\nK1,,\n", "f.csv"))
    assert found.frame.rows() == [("K2", "a b", "x", 2), ("K1", None, None, 3)]
    assert found.header == {}
    found = read_kwlist(
        put("id\tsay\tkind\nK2\ta b\tx\n", "f.tsv"), None, {"query": "id", "text": "say"}
    )
    assert found.frame.rows() == [("K2", "a b", "x", 2)]
    found = read_kwlist(put("query\nK2\nK1\n", "f.csv"))
    assert found.frame.rows() == [("K2", None, 2), ("K1", None, 3)]
    assert found.frame.schema["text"] == pl.String
    said = refused(read_kwlist, put("query\nK2\nK1\nK2\n", "f.csv"))
    assert said == "f.csv: 1 row with a query again: 'K2' at line 4"


KW_FAULTS = {
    "no id": (
        '<kw kwid="K1"/>',
        "<kw/>",
        "line 7: there is no attribute 'kwid'; expected <kw kwid",
    ),
    "empty id": ('"K1"', '""', "f.xml, line 7: the id of the query is empty"),
    "again": (
        '"K1"',
        '"K2 "',
        "f.xml, line 7: the query 'K2' is already in line 3; expected ",
    ),
    "two texts": ("<kwtext></kwtext>", "<kwtext/><kwtext/>", "line 8: a second <kwtext>; expected"),
    "two values": (
        "</value></attr></kw>",
        "</value><value/></attr></kw>",
        "a second <value>; expec",
    ),
    "two names": ("<value></value></attr></kw>", "<name/></attr></kw>", "line 8: a second <name>"),
    "attribute again": (
        "Syllables",
        "NGram",
        "line 6: the query has two attributes 'NGram'; expect",
    ),
    "own name": (
        "Syllables",
        "text",
        "line 6: the attribute is named 'text'; expected any other na",
    ),
    "no name": ("Syllables", " ", "line 6: the attribute is named ''; expected any other name"),
    "other element": (
        "<kwtext></kwtext>",
        "<audio/>",
        "line 8: <audio> where <kwtext>, <kwinfo>, <a",
    ),
    "of a termlist": ("<kwtext></kwtext>", "<termtext/>", "line 8: <termtext> where <kwtext>"),
    "text": ("<kwtext></kwtext>", "yes", "line 8: the text 'yes' where there may be none"),
    "an element in text": ("why", "<b>why</b>", "line 3: <b> where no element was expected"),
}


@pytest.mark.parametrize("name", KW_FAULTS)
def test_faults_of_queries(put, name):
    old, new, said = KW_FAULTS[name]
    assert said in refused(read_kwlist, put(KWLIST.replace(old, new)))


def test_no_queries(put):
    assert "f.xml: there are no queries; expected <kw kwid=...>" in refused(
        read_kwlist, put("<kwlist/>")
    )


# Audio

ECF = """<ecf source_signal_duration="100.0" language="english" version="01">
  <excerpt audio_filename="audio/b/F1.sph" channel="1" tbeg="0.000" dur="50.5" source_type="bnews"/>
  <excerpt dur="7" audio_filename="audio/b/F1.sph" channel="2" tbeg="1e1" source_type="splitcts"/>
  <excerpt audio_filename="rec.2" channel="1" tbeg="0" dur="1" language="x"/>
  <excerpt audio_filename="rec.2" channel="1" tbeg="0" dur="1"/>
</ecf>
"""


def test_an_ecf(put):
    for data in (ECF.encode(), gzip.compress(ECF.encode())):
        found = read_ecf(put(data))
        assert found.frame.rows() == [
            ("F1", "1", 0.0, 50.5, "bnews", 2),
            ("F1", "2", 10.0, 7.0, "splitcts", 3),
            ("rec.2", "1", 0.0, 1.0, "", 4),
            ("rec.2", "1", 0.0, 1.0, "", 5),
        ]
        assert found.frame.columns == ["document", "channel", "start", "duration", "source", "line"]
        expected = {"source_signal_duration": "100.0", "language": "english", "version": "01"}
        assert found.header == expected


def test_a_table_of_audio(put):
    found = read_ecf(put("document,duration\na/F1.wav,60\nF2,0.5\n", "f.csv"))
    assert found.frame.rows() == [("F1", "1", 0.0, 60.0, "", 2), ("F2", "1", 0.0, 0.5, "", 3)]
    text = "file,end,start,channel,source\nF1,6,1,A,cts\nF1,9,7,B,\n"
    found = read_ecf(put(text, "f.csv"), None, {"document": "file"})
    assert found.frame.rows() == [("F1", "A", 1.0, 5.0, "cts", 2), ("F1", "B", 7.0, 2.0, "", 3)]
    said = refused(read_ecf, put("document,duration\nF1,60\nF2,0\n", "f.csv"))
    assert said == "f.csv: 1 row of no duration: 0.0 at line 3"
    said = refused(read_ecf, put("document,duration\nF1,-1\n", "f.csv"))
    assert said == "f.csv: 1 row whose duration is negative: -1.0 at line 2"


ECF_FAULTS = {
    "no file": ('audio_filename="audio/b/F1.sph" channel="1"', 'channel="1"',
                "line 2: there is no attribute 'audio_filename'; expected <excerpt audio_filename"),
    "no channel": (' channel="1"', "", "line 2: there is no attribute 'channel'"),
    "empty file": ("audio/b/F1.sph", "audio/", "line 2: the audio_filename is not a name"),
    "empty channel": ('channel="1"', 'channel=" "', "line 2: the channel is not a name"),
    "negative": ('"0.000"', '"-1"', "f.xml, line 2: the tbeg '-1' is negative; expected <excerpt"),
    "no number": ('"50.5"', '"x"', "line 2: the dur 'x' is not a finite number"),
    "NaN": ('"50.5"', '"nan"', "line 2: the dur 'nan' is not a finite number"),
    "huge": ('"50.5"', '"1e999"', "line 2: the dur '1e999' is not a finite number"),
    "nothing": ('"50.5"', '"0.0"', "line 2: the dur '0.0' is nothing; expected <excerpt"),
    "negative length": ('"50.5"', '"-2"', "line 2: the dur '-2' is negative"),
    "two of a name": ("audio/b/F1.sph", "audio/a/F1.sph", "line 3: 'audio/b/F1.sph' has the same na"
                      "me, 'F1', as 'audio/a/F1.sph' in line 2; documents need different names"),
    "other element": ("<excerpt dur", "<part dur", "line 3: <part> where <excerpt> was expected"),
}  # fmt: skip


@pytest.mark.parametrize("name", ECF_FAULTS)
def test_faults_of_audio(put, name):
    old, new, said = ECF_FAULTS[name]
    assert said in refused(read_ecf, put(ECF.replace(old, new, 1)))


def test_no_audio(put):
    assert "f.xml: there are no excerpts; expected <excerpt" in refused(read_ecf, put("<ecf/>"))


def test_names_of_documents():
    names = {
        "F1": "F1",
        "a/b/F1.sph": "F1",
        "F1.WAV": "F1",
        "C:\\audio\\F1.flac": "F1",
        "rec.1": "rec.1",
        "rec.1.wav": "rec.1",
        "a.b/F1": "F1",
        ".wav": ".wav",
        " F1.sph ": "F1",
        "": "",
    }
    assert {file: document_of(file) for file in names} == names


# Words

RTTM = """;; a comment
SPKR-INFO F1 1 <NA> <NA> <NA> unknown A <NA>
LEXEME F1 1 10.5 0.25 Yes lex A 0.5
SPEAKER F1 1 10 5 <NA> <NA> A <NA>

lexeme\tF1  1 11* 0.5* yes frag A <NA> <NA>
NONLEX F1 1 12 0.5 <NA> laugh A <NA>
NON-LEX F1 1 12 0.5 <NA> laugh A <NA>
NONSPEECH F1 1 <NA> <NA> <NA> noise <NA> <NA>
NON-SPEECH F1 1 12 0.5 <NA> noise <NA> <NA>
NOSCORE F1 1 12 0.5 <NA> <NA> <NA> <NA>
# LEXEME F1 1 1 1 no lex A <NA>
LEXEME audio/F2.sph 2 0 0 Ä un-lex B <NA> ;; LEXEME behind a blank
LEXEME F2 2 0 1 a;;b lex B <NA>
"""
WORDS = [
    ("F1", "1", 10.5, 0.25, "Yes", "lex", "A", 3),
    ("F1", "1", 11.0, 0.5, "yes", "frag", "A", 6),
    ("F2", "2", 0.0, 0.0, "Ä", "un-lex", "B", 13),
    ("F2", "2", 0.0, 1.0, "a;;b", "lex", "B", 14),
]


@pytest.mark.parametrize("look", [1, 100, 1 << 22])
@pytest.mark.parametrize("name", ["f.rttm", "f.rttm.gz", "words"])
def test_words_and_turns(put, look, name, monkeypatch):
    monkeypatch.setattr(field_lines, "LOOK", look)
    data = RTTM.encode()
    found = read_lexemes(put(gzip.compress(data) if name.endswith("gz") else data, name))
    texts = {pl.Categorical: pl.String}
    assert found.words.cast(texts).rows() == WORDS
    assert found.turns.cast(texts).rows() == [("F1", "1", 10.0, 5.0, "A", 4)]
    columns = ["document", "channel", "start", "duration", "word", "subtype", "speaker", "line"]
    assert found.words.columns == columns
    assert found.turns.columns == [*columns[:4], *columns[6:]]


WORD_FAULTS = {
    "empty": (RTTM, "", "f.rttm: the file is empty; expected rttm: type file chnl tbeg"),
    "no words": (
        "LEXEME",
        "SEGMENT",
        "f.rttm: there are no LEXEME lines, one for each spoken word, which keyword search needs "
        "(an RTTM of speakers has SPEAKER lines); fields of rttm: type file chnl",
    ),
    "type": ("NOSCORE", "NOISE", "f.rttm, line 11: the type is none of RTTM: 'NOISE F1 1 12 0.5"),
    "fields": (
        " Yes",
        "",
        "line 3: 8 fields where 9 or 10 were expected: 'LEXEME F1 1 10.5 0.25 lex",
    ),
    "begin": ("10.5", "x", "f.rttm, line 3: the start 'x' is not a number of seconds"),
    "no begin": ("10.5", "<NA>", "f.rttm, line 3: the start '<NA>' is not a number of seconds"),
    "negative": ("0.25", "-1", "f.rttm, line 3: the duration '-1' is negative"),
    "turn": (" 10 5", " 10 inf", "f.rttm, line 4: the duration 'inf' is not a number of seconds"),
}


@pytest.mark.parametrize("name", WORD_FAULTS)
def test_faults_of_words(put, name):
    old, new, said = WORD_FAULTS[name]
    text = RTTM.replace(old, new) if name != "no words" else RTTM.upper().replace(old, new)
    assert said in refused(read_lexemes, put(text, "f.rttm"))


TIME = st.floats(0, 1e6, allow_nan=False)
WORD = st.text(st.sampled_from("aÄé听-;#."), min_size=1, max_size=5)
WORD = WORD.filter(lambda word: not word.startswith(";;"))  # which is a comment


@given(
    words=st.lists(
        st.tuples(WORD, st.sampled_from("12"), TIME, TIME, WORD, WORD, WORD), min_size=1, max_size=9
    ),
    look=st.sampled_from([1, 200, 1 << 22]),
)
def test_words_are_read_back(tmp_path_factory, words, look):
    path = tmp_path_factory.getbasetemp() / "words.rttm"
    lines = [f"LEXEME {d} {c} {b!r} {n!r} {w} {s} {p} <NA>" for d, c, b, n, w, s, p in words]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(field_lines, "LOOK", look)
        found = read_lexemes(str(path)).words.cast({pl.Categorical: pl.String})
    expected = [(d, c, b, n, w, s, p, k) for k, (d, c, b, n, w, s, p) in enumerate(words, 1)]
    assert found.rows() == expected


# Occurrences


def test_occurrences(put):
    text = "query,document,start,end,note\nK1,F1.wav,0.1,0.4,a\nK1,F1,2,2,b\n"
    found = read_occurrences(put(text, "f.csv"))
    assert found.frame.columns == ["query", "document", "channel", "start", "end", "line"]
    assert found.frame.rows() == [("K1", "F1", "1", 0.1, 0.4, 2), ("K1", "F1", "1", 2.0, 2.0, 3)]
    text = text.replace("end", "duration").replace("note", "channel")
    found = read_occurrences(put(parquet(pl.read_csv(text.encode())), "f.parquet"))
    assert found.frame.rows()[0] == ("K1", "F1", "a", 0.1, 0.5, 0)
    assert (found.noun, found.where(1)) == ("row", "row 1")


OCCURRENCE_FAULTS = {
    "no query": ("query", "term", "f.csv: there is no column 'query' for the query", UsageError),
    "end before": (
        "0.4",
        "0",
        "1 row with an end before its start: 0.1 to 0.0 at line 2",
        InputError,
    ),
    "negative": ("0.1", "-1", "f.csv: 1 row whose start is negative: -1.0 at line 2", InputError),
    "empty": ("K1,F2", ",F2", "f.csv: 1 row without a query: empty at line 3", InputError),
    "no number": ("0.4", "x", "is not a number: 'x' at line 2", InputError),
}


@pytest.mark.parametrize("name", OCCURRENCE_FAULTS)
def test_faults_of_occurrences(put, name):
    old, new, said, error = OCCURRENCE_FAULTS[name]
    text = "query,document,start,end\nK1,F1,0.1,0.4\nK1,F2,2,3\n".replace(old, new)
    assert said in refused(read_occurrences, put(text, "f.csv"), error=error)


# The reference tool's cases


def test_every_file_of_the_cases_is_read(shared):
    cases = shared / "cases" / "terms"
    readers = {"*kwslist.xml": read_kwslist, "*.kwlist.xml": read_kwlist, "*ecf.xml": read_ecf}
    for pattern, reader in readers.items():
        paths = sorted(cases.rglob(pattern))
        assert len(paths) >= 20
        for path in paths:
            assert reader(str(path)).source == str(path)
    for path in sorted(cases.rglob("*.rttm*")):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        found = read_lexemes(str(path))
        kinds = [
            line.split()[0] for line in data.decode().splitlines() if line[:2] not in ("", ";;")
        ]
        assert len(found.words) == kinds.count("LEXEME")
        assert len(found.turns) == kinds.count("SPEAKER")


def test_the_figures_of_a_real_list(shared):
    folder = shared / "cases" / "terms" / "sub2_real"
    found = read_kwslist(str(folder / "sub2.kwslist.xml"))
    text = (folder / "sub2.kwslist.xml").read_text()
    assert len(found) == text.count("<kw ") == 285
    assert found.accepted.sum() == text.count('"YES"') == 285
    assert (len(found.queries), len(found.documents)) == (30, 10)
    assert read_ecf(str(folder / "sub2.ecf.xml")).frame["document"].n_unique() == 10


FAR = '<ecf><excerpt audio_filename="a" channel="1" tbeg="0" dur="{}" source_type="x"/></ecf>'
LIST = (
    '<kwslist><detected_kwlist kwid="k"><kw file="a" channel="1" tbeg="{}" dur="1" score="1" '
    'decision="YES"/></detected_kwlist></kwslist>'
)


@pytest.mark.parametrize(
    ("how", "name", "text"),
    [
        (read_ecf, "e.ecf.xml", FAR),
        (read_lexemes, "r.rttm", "LEXEME a 1 1 {} yes lex s <NA>\n"),
        (read_detections, "p.kwslist.xml", LIST),
        (
            read_detections,
            "p.csv",
            "query,document,start,duration,score,decision\nk,a,1,{},2,YES\n",
        ),
    ],
)
def test_times_beyond_any_clock_are_refused(tmp_path, how, name, text):
    """Sums of them would leave 64 bits."""
    file = tmp_path / name
    file.write_text(text.format("1e10"))
    how(str(file))
    file.write_text(text.format("1e11"))
    with pytest.raises(InputError, match=r"beyond 1e\+10"):
        how(str(file))
