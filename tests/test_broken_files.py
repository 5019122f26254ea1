"""A corpus of broken files: each is refused with one message, which names the line."""

import gzip

import pytest

from truecost.errors import InputError, UsageError
from truecost.formats import read
from truecost.formats.trial_lists import LAYOUTS


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write a file in an empty folder, and give its name."""
    monkeypatch.chdir(tmp_path)

    def call(content, name="file"):
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        return name

    return call


GOOD = "".join(f"e{k} t{k} {'target' if k % 2 else 'nontarget'}\n" for k in range(300))
SRE_HEAD = "modelid\tsegmentid\tside\tLLR\n"
LISTS = (
    "the layouts are kaldi-trials: enroll test label; kaldi-scores: enroll test score; voxceleb: "
    "label enroll test; speechbrain: enroll test label score; wespeaker: enroll test score label; "
    "utt2spk: id speaker; name another format with input_format, or use the command of another "
    "task (truecost list formats)"
)
BROKEN = {  # name of the file, content, the message after the file's name
    "label": (
        "f.txt",
        GOOD + "e9 t9 tgt\n" + "e9 t9 imp\n",
        ", line 301: the label 'tgt' is neither target nor nontarget: 'e9 t9 tgt'; fields of "
        "kaldi-trials: enroll test label (300 of 302 lines fit)",
    ),
    "score": (
        "f.txt",
        "a b 0.5\na b 0,5\n",
        ", line 2: the score '0,5' is not a number (a decimal comma? write a point): 'a b 0,5'; "
        "fields of kaldi-scores: enroll test score (1 of 2 lines fit)",
    ),
    "short line": (
        "f.txt",
        "a b 0.5\n\ta   b\n",
        ", line 2: 2 fields where 3 were expected: 'a b'; fields of kaldi-scores: enroll test "
        "score (1 of 2 lines fit)",
    ),
    "long line": (
        "f.txt",
        "a b 0.5 target\na b 0.5 target 7\nx y 0.5 target\n",
        ", line 2: 5 fields where 4 were expected: 'a b 0.5 target 7'; fields of wespeaker: "
        "enroll test score label (2 of 3 lines fit)",
    ),
    "blank line": (
        "f.txt",
        "a b 0.5\r\n \r\na b 0.5\r\n",
        ", line 2: the line is blank; blank lines may only be at the end: remove it; fields of "
        "kaldi-scores: enroll test score (2 of 3 lines fit)",
    ),
    "first line blank": (
        "f.txt",
        "\nutt1 ann\n",
        ", line 1: the line is blank; blank lines may only be at the end: remove it; fields of "
        "utt2spk: id speaker (1 of 2 lines fit)",
    ),
    "blank lines of a text": (
        "f.txt",
        "\nno\n\nlist\n",
        f", line 2: no layout fits this line or any other line: 'no'; {LISTS}",
    ),
    "carriage return": (
        "f.txt",
        "a b 0.5\na\rc b 0.5\n",
        ", line 2: a carriage return is inside the line; remove it",
    ),
    "nothing fits": (
        "f.txt",
        "some words that are no trials, nor a header\n",
        ", line 1: no layout fits this line or any other line: 'some words that are no trials, "
        f"nor a header'; {LISTS} (csv: it has commas)",
    ),
    "NUL": (
        "f.txt",
        b"a b 0.5\na b\0 0.5\n",
        ", line 2: a NUL byte, but text was expected (a binary file, or UTF-16? "
        "save text as UTF-8)",
    ),
    "workbook that is cut short": (
        "f.xlsx",
        b"PK\3\4junk",
        ": this is an Excel workbook: save its sheet as CSV",
    ),
    "UTF-16": (
        "f.txt",
        "a b 0.5\n".encode("utf-16"),
        ": the text is UTF-16, not UTF-8; save the file as UTF-8",
    ),
    "Latin-1": (
        "f.txt",
        "a b 0.5\né b 0.5\n".encode("latin-1"),
        ", line 2: the text is not UTF-8; save the file as UTF-8",
    ),
    "empty": ("f.txt", b"", ": the file is empty; expected scores or labels of trials"),
    "empty gzip": (
        "f.csv.gz",
        gzip.compress(b""),
        ": the file is empty; expected comma-separated columns with a header line (.csv)",
    ),
    "blank": ("f.txt", " \n\t\n", ": the file has only blank lines"),
    "cut gzip": (
        "f.txt",
        gzip.compress(GOOD.encode())[:-9],
        ": the gzip file ends too early: download or copy it again",
    ),
    "LLR": (
        "f.tsv",
        SRE_HEAD + "m\ts\ta\t1\nm\ts\ta\thigh\n",
        ": 1 value of LLR: 'high' at line 3; numbers were expected",
    ),
    "targettype": (
        "f.tsv",
        "modelid\tsegmentid\tside\ttargettype\nm\ts\ta\ttgt\nm\ts\ta\timp\n",
        ": 2 values of targettype: 'tgt' at line 2, 'imp' at line 3; target or nontarget were "
        "expected",
    ),
    "no side": (
        "f.tsv",
        "modelid\tsegmentid\tLLR\nm\ts\t1\n",
        ", line 1: column side missing; nist-sre has modelid, segmentid, side, then LLR or "
        "targettype, then partitions; read any other columns with input_format tsv",
    ),
    "an id too many": (
        "f.tsv",
        "modelid\tsegmentid\tside\tid\nm\ts\ta\t1\n",
        ", line 1: column id not expected; nist-sre has modelid, segmentid, side, then LLR or "
        "targettype, then partitions; read any other columns with input_format tsv",
    ),
    "NIST width": (
        "f.tsv",
        SRE_HEAD + "m\ts\ta\n",
        ", line 2: 3 fields, but the header has 4 (1 such line): complete the line, or quote a "
        "field that contains the separator",
    ),
    "semicolons": (
        "f.csv",
        "id;score\na;1\n",
        ", line 1: the header has no separator of csv, but contains ';'. Are the columns separated "
        "by ';'? Spreadsheets do this in countries with decimal commas: save the file as CSV with "
        "commas between columns and points in numbers",
    ),
    "semicolons and decimal commas": (
        "f.csv",
        "\ufeffid;score;other\na;1,25;2\n",
        ", line 1: the header has no separator of csv, but contains ';'. Are the columns separated "
        "by ';', with decimal commas? Spreadsheets do this in countries with decimal commas: save "
        "the file as CSV with commas between columns and points in numbers",
    ),
    "bars": (
        "f.csv",
        "id|score\na|1,2\n",
        ", line 1: the header has no separator of csv, but contains '|'. Are the columns separated "
        "by '|'? Save the file with commas or tabs between columns",
    ),
    "tabs in csv": (
        "f.csv",
        "id\tscore\na\t1\n",
        ", line 1: the header has no separator of csv, but contains '\\t'. Are the columns "
        "separated by '\\t'? Use input_format tsv",
    ),
    "commas in tsv": (
        "f.tsv",
        "id,score\na,1\n",
        ", line 1: the header has no separator of tsv, but contains ','. Are the columns separated "
        "by ','? Use input_format csv",
    ),
    "names that repeat": (
        "f.csv",
        'id,score,"id"\na,1,2\n',
        ", line 1: column names repeat (id): give each a name of its own",
    ),
    "csv width": (
        "f.csv",
        "id,score\na,1\nb\nc\n",
        ", line 3: 1 field, but the header has 2 (2 such lines): complete the line, or quote a "
        "field that contains the separator",
    ),
    "csv width with quotes": (
        "f.csv",
        'id,score\n"a\nb",1\n"c,2"\n',
        ", line 4: 1 field, but the header has 2 (1 such line): complete the line, or quote a "
        "field that contains the separator",
    ),
    "csv blank line": (
        "f.csv",
        "id,score\na,1\n\nb,1\n",
        ", line 3: the line is blank; blank lines may only be at the end: remove it",
    ),
    "csv blank line of one column": (
        "f.csv",
        "id\na\n\nb\n",
        ", line 3: the line is blank; blank lines may only be at the end: remove it",
    ),
    "csv blank header": (
        "f.csv",
        "\nid,score\na,1\n",
        ", line 1: the line is blank; blank lines may only be at the end: remove it",
    ),
    "open quote": (
        "f.csv",
        'id,score\na,1\n"b,2\nc,3\n',
        ", line 3: a quote is opened and never closed",
    ),
    "quote inside": (
        "f.csv",
        'id,score\na,1\n5"b",2\nc,3\n',
        ", line 3: a quote in the middle of a field; quote the whole field and write quotes "
        'inside it twice ("")',
    ),
    "only a header": (
        "f.csv",
        "id,score\n",
        ": the file has a header line (id, score) but no rows",
    ),
    "JSON cut": (
        "f.ndjson",
        '{"id":1}\n{"id":\n',
        ", line 2: this is not a JSON object (Expecting value: line 1 column 7 (char 6)): "
        "'{\"id\":'",
    ),
    "JSON list": (
        "f.ndjson",
        '{"id":1}\n[1]\n',
        ", line 2: this is not a JSON object: '[1]'",
    ),
    "JSON in one line": (
        "f.ndjson",
        '{"id":1}{"id":2}\n',
        ", line 1: this is not a JSON object (Extra data: line 1 column 9 (char 8)): "
        '\'{"id":1}{"id":2}\'',
    ),
    "JSON types": (
        "f.ndjson",
        '{"s":1.5}\n{"s":null}\n{"s":true}\n',
        ", line 3: column 's' contains a truth value here, but a number in line 1; a column has "
        "one type",
    ),
    "JSON NaN": (
        "f.ndjson",
        '{"s":NaN}\n',
        ", line 1: this is not a JSON object (NaN is not JSON; write null, or the text 'NaN' in "
        "quotes): "
        "'{\"s\":NaN}'",
    ),
    "JSON blank line": (
        "f.ndjson",
        '{"s":1}\n\n{"s":2}\n',
        ", line 2: the line is blank; blank lines may only be at the end: remove it",
    ),
    "JSON nested": (
        "f.ndjson",
        '{"s":' + "[" * 100_000 + "\n",
        ', line 1: this is not a JSON object (nested too deeply): \'{"s":' + "[" * 52 + "...'",
    ),
    "JSON without columns": (
        "f.ndjson",
        "{}\n{}\n",
        ": the file has a header line (empty) but no rows",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(put, name):
    file, content, said = BROKEN[name]
    with pytest.raises(InputError) as refused:
        read(put(content, file))
    assert str(refused.value) == f"{file}{said}"


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_stated_layout_is_held_to(put, name):
    with pytest.raises(InputError) as refused:
        read(put("one two three four five\n"), name)
    assert str(refused.value) == (
        f"file, line 1: 5 fields where {len(LAYOUTS[name].fields)} were expected: "
        f"'one two three four five'; fields of {name}: {LAYOUTS[name].line}"
    )


def test_a_format_that_is_not_there(put):
    with pytest.raises(UsageError, match=r"'xls' is not known: choose one of csv, .*, nist-sre"):
        read(put("a b c\n"), "xls")
