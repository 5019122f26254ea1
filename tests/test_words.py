"""Plain words: no text that users read has a banned word or a sentence without a subject."""

import re

import pytest

import words


def told(findings) -> str:
    """All findings, one a line."""
    return "\n".join(map(str, findings))


def test_texts_of_the_package_are_in_plain_words():
    assert not told(words.findings(words.source()))


def test_pages_are_in_plain_words():
    assert not told(f for page in words.pages() for f in words.findings(words.page(page)))


def test_fields_begin_with_a_noun():
    texts = [*words.fields()]
    assert len(texts) > 1000
    assert not told(words.findings(iter(texts), words.FIELDS))


def test_fields_have_lines_of_their_own():
    names = r"\*{0,2}[\w.]+(, \*{0,2}[\w.]+)*( : .+)?"
    found = [*words.heads()]
    assert len(found) > 1000
    assert not [f for f in found if not re.fullmatch(names, f.text) or ". " in f.text]


BAD = (  # a text for each pattern, in the order of the table
    "a naive reference",
    "what a naive system would get",
    "it is better beyond doubt",
    "nothing decided",
    "the miss_rate",
    "what trials share",
    "an interval that holds",
    "what to beware of",
    "a 95 % CI",
    "1 unless given",
    "source: paper 003",
    "a cluster of trials",
    "the submission",
    "score each deployment",
    "the row says why",
    "the data do not tell them apart",
    "a program is told its seed",
    "the data at hand",
    "trials hang together",
    "auto knows better",
    "it covers less than it says",
    "files that mean harm",
    "--accept goes with --annotators any",
    "corrections are taken off again",
    "what tells the class",
    "BLEU and its like",
    "files that come along",
    "What a program takes",
    "no user, which no program can do",
)


def found_in(text: str) -> list[words.Pattern]:
    return [f.pattern for f in words.findings(iter([words.Text("x.py", 1, text)]))]


@pytest.mark.parametrize(("pattern", "text"), [*zip(words.PATTERNS, BAD, strict=True)])
def test_every_pattern_finds_its_words(pattern, text):
    assert pattern in found_in(text)
    assert pattern.say
    assert bool(pattern.right) == bool(pattern.why)


@pytest.mark.parametrize(
    "text",
    [
        "What does an interval mean?",
        "What to do",
        "Names what it needs. Choose what to score.",
        "runs that cannot be told apart",
        "in each row say --higher",
        "the Bayes threshold",
    ],
)
def test_good_sentences_are_left_alone(text):
    assert not found_in(text)


BAD_FIELDS = [
    (("What messages call it", "Of each stream", "In order of time", "None without one"), 0),
    (("As `read` takes it", "From 0 to 1", "With a unit", "Only for numbers"), 1),
    (("Its name", "Their ids", "The same of the other side"), 2),
]


@pytest.mark.parametrize(("texts", "pattern"), BAD_FIELDS)
def test_every_pattern_of_fields_finds_its_words(texts, pattern):
    for text in texts:
        found = words.findings(iter([words.Text("x.py", 1, text)]), words.FIELDS)
        assert [f.pattern for f in found] == [words.FIELDS[pattern]]


@pytest.mark.parametrize(
    "text",
    [
        "Name of the system, as studies have it.",
        "Whether trials are weighted. Default: no.",
        "Offset in seconds, from 0.",
        "Asked questions.",
        "One of three words.",
        "Bytes of the file.",
    ],
)
def test_good_fields_are_left_alone(text):
    assert not words.findings(iter([words.Text("x.py", 1, text)]), words.FIELDS)


def test_fields_are_read_whole_from_public_docstrings_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(words, "name", str)
    path = tmp_path / "some.py"
    path.write_text(
        'def _own(x):\n    """Own.\n\n    Parameters\n    ----------\n    x : int\n'
        '        What.\n    """\n\n\ndef public(x, y):\n    """Sum.\n\n    Parameters\n'
        "    ----------\n    x, y : int\n        Numbers,\n        whole.\n    z\n\n    Returns\n"
        "    -------\n    int\n        Sum.\n\n        Signed.\n\n    Raises\n    ------\n    E\n"
        '        When wrong.\n    """\n    return x + y\n',
        encoding="utf-8",
    )
    texts = [(t.line, t.text) for t in words.fields_of(path)]
    assert texts == [(17, "Numbers, whole."), (24, "Sum. Signed.")]


def test_code_and_private_docstrings_are_no_texts(tmp_path, monkeypatch):
    monkeypatch.setattr(words, "name", str)
    path = tmp_path / "some.py"
    path.write_text(
        '"""Head."""\n\n\ndef _own():\n    """What it is."""\n\n\ndef open_(x):\n'
        '    """What is\n    said."""\n    return f"what {x} " "says", "key"\n',
        encoding="utf-8",
    )
    assert [t.text for t in words.python(path)] == ["What is said.", "what {} says"]
    page = tmp_path / "page.md"
    page.write_text(
        "# What it is\n\nSome\ntext `what it is` [link](what.md).\n\n```console\nwhat\n```\n\n"
        "- one\n- two\n",
        encoding="utf-8",
    )
    texts = [(t.line, t.text) for t in words.page(page)]
    assert texts == [(1, "What it is"), (3, "Some text `code` [link]."), (10, "one"), (11, "two")]
