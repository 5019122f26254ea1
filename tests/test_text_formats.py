"""Formats of transcripts and translations: what each gives, how it is known, what is refused."""

import gzip
import io
import json
import sys
import types

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import InputError, UsageError
from truecost.formats import read
from truecost.formats import text as field_lines
from truecost.formats import transcripts as alternations
from truecost.names import FORMATS
from truecost.tasks import DEFAULT, find, names

STM = """;; CATEGORY "0" "" ""
;; CATEGORY "1" "Alternations" "Segments with or without"
;; LABEL "O" "Overall" "Overall Scores"
;; any other comment
2347 a 2347-a 1.06 3.47 <O,WA> i've { um / uh } as far

2347 a 2347-a 11.06 15.840 <O,NA>
2347 a 2347-a 115.43 121.12
3129 b 3129-b 205.66 217.79 <o> IGNORE_TIME_SEGMENT_IN_SCORING
"""
CTM = """;; words of a recogniser
7654 A 11.34 0.2  YES -6.763
7654 A 12.00 0.34 YOU NA
\t7654 B 1.34 0.2  I 0.5 lex s1

#hash A 0 1 it
"""
TRN = """;; utterances
she had your dark suit (cmh_sa01)
 well (you know)  that  (a-1)\t
(a-2)

i've { um / { uh / er } / @ } as far (a-3)
no blank(a-4)
"""
SEGMENTS = [
    {"session_id": "s1", "speaker": "A", "start_time": 1.5, "end_time": "3", "words": "a  b"},
    {"session_id": "s1", "speaker": "B", "start_time": "1", "end_time": 2, "words": "", "n": 1},
]

TASK_FORMATS = {task: find(task).formats.texts for task in names() if task != DEFAULT}


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write a file in an empty folder, and give its name."""
    monkeypatch.chdir(tmp_path)

    def call(content, name="file"):
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        return name

    return call


def transcripts(path, kind=None):
    return read(path, kind, "transcripts")


def piped(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(data)))
    return "-"


CHANGES = {
    "plain": str.encode,
    "gzip": lambda text: gzip.compress(text.encode()),
    "windows": lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
    "no last line end": lambda text: text.rstrip("\n").encode(),
    "blank end": lambda text: (text + "\n \t\n\r\n").encode(),
}
READ = {  # file, all rows
    "kaldi-text": (
        "u-1 a  b\nu-2\nu.3\t c d\n",
        [("u-1", "a  b"), ("u-2", ""), ("u.3", "c d")],
    ),
    "trn": (
        TRN,
        [
            ("cmh_sa01", "she had your dark suit"),
            ("a-1", "well (you know)  that"),
            ("a-2", ""),
            ("a-3", "i've { um / { uh / er } / @ } as far"),
            ("a-4", "no blank"),
        ],
    ),
    "stm": (
        STM,
        [
            ("2347-a-1.06-3.47", "2347", "a", "2347-a", 1.06, 3.47, "O", "WA",
             "i've { um / uh } as far"),
            ("2347-a-11.06-15.84", "2347", "a", "2347-a", 11.06, 15.84, "O", "NA", ""),
            ("2347-a-115.43-121.12", "2347", "a", "2347-a", 115.43, 121.12, None, None, ""),
            ("3129-b-205.66-217.79", "3129", "b", "3129-b", 205.66, 217.79, "o", None,
             "IGNORE_TIME_SEGMENT_IN_SCORING"),
        ],
    ),
    "ctm": (
        CTM,
        [
            ("7654", "A", 11.34, 0.2, "YES", -6.763, None, None),
            ("7654", "A", 12.0, 0.34, "YOU", None, None, None),
            ("7654", "B", 1.34, 0.2, "I", 0.5, "lex", "s1"),
            ("#hash", "A", 0.0, 1.0, "it", None, None, None),
        ],
    ),
    "seglst": (
        json.dumps(SEGMENTS),
        [
            ("s1-A-1.5-3.0", "s1", "A", 1.5, 3.0, "a  b", None),
            ("s1-B-1.0-2.0", "s1", "B", 1.0, 2.0, "", 1),
        ],
    ),
}  # fmt: skip
LINES_OF = {
    "kaldi-text": [1, 2, 3],
    "trn": [2, 3, 4, 6, 7],
    "stm": [5, 7, 8, 9],
    "ctm": [2, 3, 4, 6],
}


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("change", CHANGES)
def test_every_row_is_read_as_it_stands(put, kind, change):
    text, rows = READ[kind]
    table = transcripts(put(CHANGES[change](text)), kind)
    assert table.frame.rows() == rows
    assert (table.format, table.layout) == (kind, "")
    if kind in LINES_OF:
        assert [table.where(k) for k in range(len(table))] == [f"line {n}" for n in LINES_OF[kind]]


def test_the_columns_of_each_format(put):
    columns = {kind: transcripts(put(READ[kind][0]), kind).columns for kind in READ}
    assert columns == {
        "kaldi-text": ["id", "text"],
        "trn": ["id", "text"],
        "stm": ["id", "recording", "channel", "speaker", "start", "end", "label1", "Alternations",
                "text"],
        "ctm": ["recording", "channel", "start", "duration", "word", "confidence", "type",
                "speaker"],
        "seglst": ["id", "recording", "speaker", "start", "end", "text", "n"],
    }  # fmt: skip


def test_optional_columns_of_a_ctm_are_those_it_has(put):
    assert transcripts(put("a 1 0 1 b\n"), "ctm").columns[-1] == "word"
    assert transcripts(put("a 1 0 1 b NA\n"), "ctm").columns[-1] == "word"


@pytest.mark.parametrize("kind", ["trn", "stm", "ctm", "seglst"])
def test_endings(put, kind):
    ending = {"seglst": ["seglst.json", "json"]}.get(kind, [kind, kind.upper()])
    for name in (f"a.{e}{gz}" for e in ending for gz in ("", ".gz")):
        table = transcripts(put(gzip.compress(READ[kind][0].encode()), name))
        assert table.frame.rows() == READ[kind][1]
        assert table.layout == ""


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("stdin", [True, False])
def test_content_tells_the_format(put, kind, stdin, monkeypatch):
    text, rows = READ[kind]
    path = piped(monkeypatch, text.encode()) if stdin else put(text, "text.txt")
    table = transcripts(path)
    assert table.layout.startswith(f"{kind}: ")
    assert table.frame.rows() == rows
    assert table.source == ("standard input" if stdin else "text.txt")


@pytest.mark.parametrize("task", ["transcripts", "translation"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "ndjson", "parquet"])
def test_tables_keep_their_columns(put, task, kind):
    frame = pl.DataFrame({"id": ["a", "b"], "text": ["x, y", ""], "age": ["3", "4"]})
    stream = io.BytesIO()
    if kind == "parquet":
        frame.write_parquet(stream)
    elif kind == "ndjson":
        frame.write_ndjson(stream)
    else:
        frame.write_csv(stream, separator="," if kind == "csv" else "\t")
    table = read(put(stream.getvalue(), f"x.{kind}"), task=task)
    assert table.frame.fill_null("").equals(frame)
    if task == "transcripts" or kind == "parquet":
        table = read(put(stream.getvalue()), task=task)
        assert table.layout == f"{kind}: id text age"
    else:
        with pytest.raises(UsageError, match=rf"looks like {kind}.*input_format {kind}\|lines"):
            read(put(stream.getvalue()), task=task)


@pytest.mark.parametrize("name", ["ref.en", "hyp.de", "ref.txt", "ref", "ref.en.gz"])
def test_texts_one_a_line(put, name):
    data = "Ja.\n\n  zwei  Wörter \u2028 \x0b\x85 \nEnde".encode()
    table = read(
        put(gzip.compress(data) if name.endswith("gz") else data, name), task="translation"
    )
    assert table.frame["text"].to_list() == ["Ja.", "", "  zwei  Wörter \u2028 \x0b\x85 ", "Ende"]
    assert table.frame["id"].to_list() == ["1", "2", "3", "4"]
    assert table.layout == "lines: one text a line"
    assert table.where(2) == "line 3"


@pytest.mark.parametrize(
    ("data", "texts"),
    [
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"a\n\n", ["a", ""]),
        (b"\na", ["", "a"]),
        (b"a\r\n\r\nb\r\n", ["a", "", "b"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", ["a", "\ufeffb"]),
        (b" \t\n", [" \t"]),
    ],
)
def test_empty_lines_are_empty_texts(put, data, texts):
    assert read(put(data), "lines", "transcripts").frame["text"].to_list() == texts


@given(texts=st.lists(st.text(st.characters(exclude_characters="\n\r\0", exclude_categories="C")),
                      min_size=1))  # fmt: skip
def test_lines_are_split_at_line_breaks_only(tmp_path_factory, texts):
    path = tmp_path_factory.getbasetemp() / "lines"
    path.write_bytes("".join(f"{t}\n" for t in texts).encode())
    assert read(str(path), "lines", "translation").frame["text"].to_list() == texts


WORDS = st.text(st.sampled_from("abé0.#\"'_,-\u00a0\u2028"), min_size=1, max_size=5)


@given(
    rows=st.lists(st.tuples(WORDS, st.lists(WORDS | st.just("(x)"), max_size=4)), min_size=1),
    blank=st.sampled_from([" ", "\t", " \t "]),
    look=st.sampled_from([1, 16, 1 << 24]),
)
def test_ids_and_texts_against_three_lines(tmp_path_factory, rows, blank, look):
    """Slow readers in a line each are the references, for blocks of any size."""
    path = tmp_path_factory.getbasetemp() / "texts"
    expected = [(i, blank.join(words).strip(" \t")) for i, words in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(field_lines, "LOOK", look)
        path.write_text("".join(f"{blank.join([i, *w])}\n" for i, w in rows), encoding="utf-8")
        assert transcripts(str(path), "kaldi-text").frame.rows() == expected
        path.write_text(
            "".join(f";; c\n\n{blank.join(w)}{blank}({i})\n" for i, w in rows), encoding="utf-8"
        )
        table = transcripts(str(path), "trn")
    assert table.frame.rows() == expected
    assert [table.where(k) for k in range(len(rows))] == [
        f"line {3 * k + 3}" for k in range(len(rows))
    ]


def test_duplicate_ids_are_kept_for_the_task_to_refuse(put):
    assert transcripts(put("u-1 a\nu-1 b\n"), "kaldi-text").frame["id"].to_list() == ["u-1", "u-1"]
    assert transcripts(put("a (u)\nb (u)\n"), "trn").frame["id"].to_list() == ["u", "u"]


def test_ids_of_segments_are_unique_and_do_not_depend_on_other_lines(put):
    one = "r 1 s 0.50 1 a\n"
    ids = transcripts(put(f"q 1 s 0 1 a\n{one}r 1 t 0.5 1.0 b\n{one}"), "stm").frame["id"]
    assert ids.to_list() == ["q-1-0.0-1.0", "r-1-0.5-1.0", "r-1-0.5-1.0-2", "r-1-0.5-1.0-3"]
    assert transcripts(put(one), "stm").frame["id"].to_list() == ["r-1-0.5-1.0"]
    binary = [{**SEGMENTS[0], "start_time": 0.1 + 0.2}]
    assert transcripts(put(json.dumps(binary)), "seglst").frame["id"][0] == "s1-A-0.3-3.0"


SEGMENT = "r 1 s 0 1"
LABELS = {  # lines, columns, rows of labels and text
    "all have one": (["<NA> a", "<o> b"], ["label1"], [("NA", "a"), ("o", "b")]),
    "lists": (["<o,f,m> a", "b <unk>", "<o>"], ["label1", "label2", "label3"], None),
    "no labels": (["a <unk>", "b"], [], [("a <unk>",), ("b",)]),
    "no words": (["<o,f>", ""], ["label1", "label2"], [("o", "f", ""), (None, None, "")]),
    "two words": (["<o> <unk> a"], ["label1"], [("o", "<unk> a")]),
    "not closed": (["<o a", "b"], [], [("<o a",), ("b",)]),
    "not alone": (["<o>a b"], [], [("<o>a b",)]),
}


@pytest.mark.parametrize("name", [n for n in LABELS if n != "lists"])
def test_labels(put, name):
    lines, columns, rows = LABELS[name]
    table = transcripts(put("".join(f"{SEGMENT} {line}\n" for line in lines)), "stm")
    assert table.columns[6:] == [*columns, "text"]
    assert table.frame.select(table.columns[6:]).rows() == rows


def test_what_may_be_a_label_or_a_word_is_refused(put):
    lines = "".join(f"{SEGMENT} {line}\n" for line in LABELS["lists"][0])
    with pytest.raises(InputError, match=r"^file, line 3: '<o>' may be a label or a word"):
        transcripts(put(lines), "stm")
    table = transcripts(put(f';; LABEL "O" "Overall" ""\r\n{lines}'), "stm")
    assert table.frame["label1"].to_list() == ["o", None, "o"]
    assert table.frame["text"].to_list() == ["a", "b <unk>", ""]


def test_names_of_label_columns(put):
    names = ["Sex", "text", "Sex", " ", "Age"]
    head = "".join(f';; CATEGORY "{k}" "{name}" ""\n' for k, name in enumerate(names))
    columns = transcripts(put(f"{head}{SEGMENT} <a,b,c,d,e,f> x\n"), "stm").columns[6:]
    assert columns == ["Sex", "label2", "label3", "label4", "Age", "label6", "text"]


@pytest.mark.parametrize(
    "text", ["{ a / b }", "{ a b / @ / { c / d e } f }", "a / b", "1/2 { a / @ } 1/2", "@", "/"]
)
def test_alternations_that_are_well_formed(put, text):
    assert transcripts(put(f"{text} (u)\n"), "trn").frame["text"].to_list() == [text]
    assert transcripts(put(f"{SEGMENT} {text}\n"), "stm").frame["text"].to_list() == [text]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a { b / c", "a brace is never closed"),
        ("{ a / { b / c }", "a brace is never closed"),
        ("a } b", "a brace is closed that was not opened"),
        ("{ a }", "an alternation has one alternative only"),
        ("{ a / { b } }", "an alternation has one alternative only"),
        ("{ / a }", r"an alternative is empty \(@ stands for no word\)"),
        ("{ a / }", "an alternative is empty"),
        ("{ a / / b }", "an alternative is empty"),
        ("{ }", "an alternative is empty"),
        ("{a/b}", r"'\{a/b\}': braces and slashes of alternations need blanks around them"),
        ("{ a /b }", "'/b': braces and slashes"),
        ("a}b", "braces and slashes"),
    ],
)
def test_alternations_that_are_malformed(put, text, said):
    with pytest.raises(InputError, match=f"^file, line 3: .*{said}"):
        transcripts(put(f";; c\nfine (u)\n{text} (v)\n"), "trn")
    with pytest.raises(InputError, match=f"^file, line 2: .*{said}"):
        transcripts(put(f"{SEGMENT} fine\n{SEGMENT} {text}\n"), "stm")


ALTERNATIVES = st.recursive(
    st.lists(st.sampled_from(["a", "b", "@"]), min_size=1, max_size=2).map(" ".join),
    lambda inner: st.lists(inner, min_size=2, max_size=3).map(" / ".join).map("{{ {} }}".format),
    max_leaves=6,
)


@given(text=ALTERNATIVES, cut=st.integers(0, 20))
def test_the_grammar_of_alternations(text, cut):
    """What the grammar makes is well formed; without one of its braces it is not."""
    assert alternations._fault(text) == ""
    words = text.split(" ")
    braces = [k for k, word in enumerate(words) if word in "{}"]
    if braces:
        del words[braces[cut % len(braces)]]
        assert alternations._fault(" ".join(words))


REFUSED = {  # format, file, message
    "trn without id": ("trn", "a b (u)\na b\n", "line 2: the line does not end with an id in par"),
    "trn with words behind": ("trn", "a (u) b\n", "line 1: the line does not end with an id"),
    "trn id with parentheses": ("trn", "a (u(1)-4)\n", "line 1: the id at the end of the line conta"
                                                       "ins a parenthesis: 'a (u(1)-4)'; fields"),
    "trn id with blanks": ("trn", "so (as usual)\n", "line 1: the id at the end of the line conta"
                                                     "ins a blank"),
    "trn empty id": ("trn", "so ()\n", "line 1: the id at the end of the line is empty"),
    "trn comments only": ("trn", ";; (u)\n", "there is no utterance; fields of trn: words (id)"),
    "stm fields": ("stm", f"{SEGMENT} a\n\nr 1 s 0\n", "line 3: fewer than five fields: 'r 1 s 0'"),
    "stm hash": ("stm", "# comment\n", "line 1: fewer than five fields: '# comment'; fields"),
    "stm order": ("stm", "r 1 s 3 2 a\n", "line 1: the end 2 is before the start 3; fie"),
    "stm number": ("stm", "r 1 s 0 1,5 a\n",
                   "line 1: the end '1,5' is not a number of seconds; did you mean 1.5?"),
    "stm negative": ("stm", "r 1 s -1 2 a\n", "line 1: the start '-1' is negative"),
    "stm infinite": ("stm", "r 1 s 0 inf a\n", "line 1: the end 'inf' is not a number of seconds"),
    "ctm word": ("ctm", "r 1 0 1 a\nr 1 0 1\n", "line 2: 4 fields where 5 to 8 were expected"),
    "ctm fields": ("ctm", "r 1 0 1 a 1 lex s x\n", "line 1: 9 fields where 5 to 8 were expected"),
    "ctm negative": ("ctm", "r 1 0 -0.1 a\n", "line 1: the duration '-0.1' is negative"),
    "ctm nan": ("ctm", "r 1 nan 1 a\n", "line 1: the start 'nan' is not a number of seconds"),
    "ctm confidence": ("ctm", "r 1 0 1 a b\n", "line 1: the confidence 'b' is not a number; fie"),
    "ctm alternations": ("ctm", "r 1 0 1 a\nr 1 * * <ALT_BEGIN>\nr 1 0 1 a\nr 1 * * <ALT>\n",
                         "line 2: <ALT_BEGIN>: alternations of a CTM file are not read; write an"),
    "kaldi blank": ("kaldi-text", "u-1 a\n \t\nu-2 b\n", "line 2: the line is blank; an utterance"),
    "carriage return": ("kaldi-text", "u-1 a\rb\nc\n", "line 1: a carriage return is inside the "
    "line"),
    "carriage return in lines": ("lines", "a\nb\rc\n", "line 2: a carriage return is inside the "
    "line"),
    "nul": ("lines", "a\nb\0c\n", "line 2: a NUL byte"),
    "lines of nothing": ("lines", "\ufeff", "the file is empty; expected one text a line"),
    "utf-8": ("trn", b"a (u)\n\xff (v)\n", "line 2: the text is not UTF-8"),
    "utf-16": ("kaldi-text", "u a".encode("utf-16"), "the text is UTF-16, not UTF-8"),
    "no json": ("seglst", '[{"words": "a",\n"session_id"}]', "line 2: this is not JSON ("),
    "json object": ("seglst", "{}", "an object where a list was expected; seglst is a JSON list"),
    "no segments": ("seglst", "[]", "the list has no segments"),
    "no object": ("seglst", "[1]", "segment 1: this is a single value, not an object"),
    "no session": ("seglst", '[{"words": "a"}]', "segment 1: there is no session_id"),
    "no words": ("seglst", json.dumps([SEGMENTS[0], {"session_id": "s"}]), "segment 2: there is no"
                                                                           " words"),
    "list of words": ("seglst", '[{"session_id": "s", "words": ["a"]}]', "segment 1: words is a l"
                                                                         "ist"),
    "json number": ("seglst", '[{"session_id": "s", "words": 3}]', "segment 1: words is a singl"
                                                                   "e value of another type"),
    "json times": ("seglst", json.dumps([SEGMENTS[0], {**SEGMENTS[1], "start_time": 5}]),
                   "1 segment with an end before its start: 5.0 to 2.0 at segment 2"),
    "json bad time": ("seglst", json.dumps([{**SEGMENTS[1], "start_time": "x"}]),
                      "1 value of the start (column 'start') is not a number"),
    "json truth": ("seglst", json.dumps([{**SEGMENTS[1], "start_time": True}]),
                   "segment 1: start_time is a single value of another type"),
    "json negative": ("seglst", json.dumps([{**SEGMENTS[1], "start_time": -1}]),
                      "1 segment whose start is not a number of seconds from 0: -1.0 at segment 1"),
    "json clash": ("seglst", json.dumps([{**SEGMENTS[1], "text": "b"}]),
                   "the keys text and words mean the same column; leave one out"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(put, name):
    kind, text, said = REFUSED[name]
    with pytest.raises(InputError) as caught:
        transcripts(put(text), kind)
    assert str(caught.value).startswith(f"file{', ' if said[:3] in ('lin', 'seg') else ': '}{said}")


@pytest.mark.parametrize("kind", ["kaldi-text", "trn", "stm", "ctm", "seglst", "lines", None])
def test_an_empty_file_says_what_was_expected(put, kind):
    expected = TASK_FORMATS["transcripts"].get(kind, "texts of utterances").partition(";")[0]
    with pytest.raises(InputError) as caught:
        transcripts(put(b""), kind)
    hint = '; if it is the output of a system that found nothing, use missing="worst"'
    allowed = kind in ("kaldi-text", "trn", "ctm", None)
    assert str(caught.value) == f"file: the file is empty; expected {expected}{hint * allowed}"


@pytest.mark.parametrize(
    ("kind", "task", "text", "columns"),
    [
        ("kaldi-text", "transcripts", "\n \n", ["id", "text"]),
        (None, "transcripts", "", ["id", "text"]),
        ("trn", "transcripts", ";; none\r\n", ["id", "text"]),
        (
            "ctm",
            "transcripts",
            "\ufeff;; none",
            ["recording", "channel", "start", "duration", "word"],
        ),
        (None, "diarization", "# none\n", None),
        ("rttm", "diarization", "; none\n", None),
    ],
)
def test_a_file_without_records_is_read_when_it_may_be_empty(put, kind, task, text, columns):
    table = read(put(text), kind, task, empty=True)
    assert len(table) == 0
    assert table.columns == (columns or ["type", "recording", "channel", "speaker", "start", "end"])
    with pytest.raises(InputError):
        read("file", kind, task)


@pytest.mark.parametrize("kind", ["stm", "seglst", "lines", "csv"])
def test_other_formats_have_records(put, kind):
    with pytest.raises(InputError, match="empty"):
        read(put(""), kind, "transcripts", empty=True)


def test_a_file_with_records_is_read_as_ever(put):
    with pytest.raises(InputError, match="line 2: the line does not end with an id"):
        read(put("a (u-1)\nb\n"), "trn", "transcripts", empty=True)


LINES = [f"u-{k} a b" for k in range(9)]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            "u-3 c",
            "file, line 10: the id 'u-3' is already in line 4; as kaldi-text (id",
        ),
        ("anna c", "file, line 10: 'anna' does not look like an id, which has a digit or one of"),
        ("\nu-9 c", "file, line 10: the line is blank; as kaldi-text (id words) it fits 10 of 11"),
    ],
)
def test_what_breaks_kaldi_text_is_named(put, more, said):
    with pytest.raises(InputError) as caught:
        transcripts(put("\n".join([*LINES, more]) + "\n"))
    assert str(caught.value).startswith(said)
    assert str(caught.value).endswith(
        "correct the lines that do not fit, or use input_format kaldi-text|lines"
    )


def test_what_breaks_a_layout_of_records_is_named(put):
    text = "a (u-1)\nb (u-2)\nb c\n;; none\nd\ne (u-3)\n"
    with pytest.raises(
        InputError, match=r"^file, line 3: does not fit: 'b c'; as trn \(words \(id"
    ):
        transcripts(put(text))


def test_other_json_than_segments_says_what_to_do(put):
    whisper = {"text": "a", "segments": [{"start": 0, "end": 1, "text": "a"}]}
    told = {
        json.dumps([{"id": "a", "text": "b"}]): "one a line: jq -c '.[]' file > new.jsonl",
        json.dumps(whisper): "for Whisper's segments: jq '[.segments[] | {session_id: \"NAME\"",
        json.dumps(whisper["segments"]): "for Whisper's segments: jq '[.[] | {session_id",
        '{"id": "a", "text": "b"}\n' * 2: "one object a line? Use input_format ndjson",
        json.dumps([{"speaker": "a"}]): "start_time, end_time, words",
    }
    for text, said in told.items():
        with pytest.raises(InputError) as caught:
            transcripts(put(text), "seglst")
        assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello world\nhow are you\n", r"could be kaldi-text \(id words\) or lines \(one text a"),
        ("u-1 a\nu-1 b\n", "could be kaldi-text"),
        ("u-1 a\nhello b\n", r"use input_format kaldi-text\|lines$"),
        ("r-1 A 0.5 0.2 hello\n", r"2 layouts fit every line, ctm \(.*\) and kaldi-text \(id word"),
        ("u-1 a (v)\n", r"2 layouts fit .* trn \(words \(id\)\).*input_format trn\|kaldi-text$"),
        ("2345 A 1 0.0 1.0 hi\n", "3 layouts fit every line, ctm"),
    ],
)
def test_what_fits_several_layouts_is_refused(put, text, said):
    with pytest.raises(UsageError, match=said):
        transcripts(put(text, "text"))


@pytest.mark.parametrize(
    ("task", "name", "said"),
    [
        (
            "translation",
            "a.trn",
            ".trn is the ending of format trn, which is not read for translation",
        ),
        (
            "translation",
            "a.json.gz",
            ".json is the ending of format seglst, which is not read for translation",
        ),
        (
            "transcripts",
            "a.rttm",
            ".rttm is the ending of format rttm, which is not read for transcripts",
        ),
        ("transcripts", "a.npz", "input_format kaldi-text|trn|stm|ctm|seglst|manifest|lines|csv"),
    ],
)
def test_an_ending_of_another_task_is_refused(put, task, name, said):
    with pytest.raises(UsageError) as caught:
        read(put("a\n", name), task=task)
    assert said in str(caught.value)
    assert read(name, "lines", task).frame.rows() == [("1", "a")]


@pytest.mark.parametrize("task", TASK_FORMATS)
def test_a_format_of_another_task_is_refused(put, task):
    with pytest.raises(UsageError) as caught:
        read(put("a b target\n"), "kaldi-trials", task)
    choice = ", ".join(TASK_FORMATS[task])
    said = f"input format 'kaldi-trials' is not known for {task}: choose one of {choice}"
    assert str(caught.value) == said


def test_texts_that_look_like_json_are_not_guessed(put):
    for text, kind in (('{"a": 1}\n', "ndjson"), ('[{"words": "a"}]\n', "seglst")):
        with pytest.raises(UsageError, match=f"looks like {kind}, though it may be text"):
            read(put(text), task="translation")
    assert read(put("{ um / uh }\n[laughs] so\n"), task="translation").frame.height == 2


def test_an_empty_folder_is_no_file(tmp_path):
    with pytest.raises(
        InputError, match=r"the folder is empty; expected .trn or .stm or .ctm files"
    ):
        transcripts(str(tmp_path))


def test_formats_are_listed_with_their_tasks(capsys):
    from truecost.cli.lists import show

    show("formats", json=True)
    listed = {e["name"]: e for e in json.loads(capsys.readouterr().out)}
    assert set(listed) == {k for task in names() for k in find(task).formats.texts} | {*FORMATS}
    assert listed["seglst"]["tasks"] == ["transcripts", "diarization"]
    assert listed["npz"]["tasks"] == ["trials"]
    assert listed["csv"]["tasks"] == ["trials", *TASK_FORMATS]
    show("formats")
    [line] = [r for r in capsys.readouterr().out.splitlines() if r.startswith("uem ")]
    assert line.endswith("; for diarization")
