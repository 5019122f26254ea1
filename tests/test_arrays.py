"""Counting without files: every argument that is not what it should be is refused by its name."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pyannote.core import Annotation, Segment

import truecost as tc
from truecost.core.subsets import empty_cells

RIGHT = ["the cat sat", "on the mat", "a dog"]
SAID = ["the bat sat", "on mat", "a dog"]
OF_TEXTS = (tc.count_transcripts, tc.count_translations)
SEGMENTS = {
    "recording": ["r", "r"],
    "speaker": ["a", "b"],
    "start": [0, 4.5],
    "end": [4, 10],
}


def same(found, wanted):
    """Whether two systems have the same counts."""
    assert found.ids.tolist() == wanted.ids.tolist()
    assert found.parts.keys() == wanted.parts.keys()
    for part, statistics in wanted.parts.items():
        for name, values in statistics.items():
            assert np.array_equal(found.parts[part][name], values), (part, name)


@pytest.mark.parametrize("count", OF_TEXTS)
@pytest.mark.parametrize(
    "of", [tuple, iter, pl.Series, pd.Series, np.array, lambda texts: (t for t in texts)]
)
def test_texts_come_in_any_order_keeping_collection(count, of):
    same(count(of(RIGHT), of(SAID)), count(RIGHT, SAID))


@pytest.mark.parametrize("count", OF_TEXTS)
@pytest.mark.parametrize(
    ("right", "said", "message"),
    [
        ("the cat sat", "the bat sat", "is 'the "),
        (RIGHT, "the bat sat", "hypotheses is 'the bat sat' (str): give a list with a text for"),
        (dict(zip("abc", RIGHT, strict=True)), SAID, "references is of type dict: give a list"),
        (
            RIGHT,
            dict(zip("abc", SAID, strict=True)),
            "give the values of a mapping, and its keys as ids",
        ),
        (None, SAID, "references is None: give a list"),
        (RIGHT, None, "hypotheses is None: give a list"),
        (RIGHT, ["a", "b", None], "hypotheses[2] is None: give a text (str) for each"),
        (["a", None, "b"], SAID, "references[1] is None"),
        (RIGHT, pd.Series(["a", None, "b"]), "hypotheses[1] is nan (float)"),
        ([1, 2, 3], SAID, "references[0] is 1 (int)"),
        ({*RIGHT}, SAID, "references is of type set"),
        (pd.DataFrame({"text": RIGHT}), SAID, "references is of type DataFrame"),
        (pl.DataFrame({"text": RIGHT}), SAID, "references is of type DataFrame"),
        (pl.LazyFrame({"text": RIGHT}), SAID, "references is of type LazyFrame"),
        (b"ab", SAID, "references is of type bytes"),
        (7, SAID, "references is 7 (int)"),
        ([], [], "references: there "),
        (RIGHT, SAID[:2], "has 2 entries, but references has 3: give one for each of the"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(count, right, said, message):
    with pytest.raises(tc.InputError, match=re.escape(message)):
        count(right, said)


def test_several_references_are_lists_over_all_sentences():
    other = ["a cat sat", "", "dogs"]
    found = tc.count_translations([RIGHT, other], SAID)
    same(found, tc.count_translations(iter([pd.Series(RIGHT), (t for t in other)]), SAID))
    for each in ([[r] for r in RIGHT], [[r, r, r, r] for r in RIGHT], [[RIGHT[0]], [], RIGHT]):
        with pytest.raises(tc.InputError, match="several references are several lists over all"):
            tc.count_translations(each, SAID)
    same(tc.count_translations([*zip(*[[r] for r in RIGHT])], SAID),  # noqa: B905
         tc.count_translations(RIGHT, SAID))  # fmt: skip


@pytest.mark.parametrize(
    ("references", "message"),
    [
        ([RIGHT, "on the mat"], "references[1] is 'on the mat' (str): give a list"),
        ([RIGHT, ["a", None, "b"]], "references[1][1] is None"),
        ([RIGHT, RIGHT[:2]], "references[1] has 2 entries, but references[0] has 3"),
        ([RIGHT[0], RIGHT], "references[1] is of type list: give a text"),
    ],
)
def test_wrong_sets_of_references_are_named(references, message):
    with pytest.raises(tc.InputError, match=re.escape(message)):
        tc.count_translations(references, SAID)


def test_a_text_where_names_are_expected_is_one_name():
    items = tc.count_transcripts(RIGHT, SAID, normalise="lower", measures="wer")
    same(items, tc.count_transcripts(RIGHT, SAID, normalise=["lower"], measures=("wer",)))
    assert [*items.parts] == ["words"]
    assert "normalise:lower" in repr(items)
    assert [*tc.count_translations(RIGHT, SAID, measures="chrf").parts] == ["chrf"]
    assert [*tc.count_diarization(SEGMENTS, SEGMENTS, measures="jer").parts] == ["speakers"]
    same(items, tc.count_transcripts(RIGHT, SAID, measures=(m for m in ["wer"])))


@pytest.mark.parametrize("count", OF_TEXTS)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"measure": "wer"}, "has no parameter 'measure' (did you mean 'measures'?)"),
        ({"units": [1, 2, 3]}, "has no parameter 'units' (did you mean 'unit'?)"),
        ({"id": [1, 2, 3]}, "has no parameter 'id' (did you mean 'ids'?)"),
        ({"jobs": 4}, "has no parameter 'jobs', and a further column needs a value for each"),
        ({"language": "en"}, "but language is 'en' (str); the parameters are references, hyp"),
        ({"text": RIGHT}, "a further column cannot be named 'text'"),
        ({"measures": None}, "measures is None: give a name or a list of names"),
        ({"measures": [3]}, "measures[0] is 3 (int): give names"),
        ({"measures": {"wer"}}, "measures is of type set"),
        ({"measures": "wer,cer"}, "measure 'wer,cer' is not known"),
        ({"name": 3}, "name is 3 (int): give a text"),
    ],
)
def test_wrong_options_are_named(count, given, message):
    with pytest.raises(tc.UsageError, match=re.escape(message)):
        count(RIGHT, SAID, **given)


@pytest.mark.parametrize(
    ("count", "given", "message"),
    [
        (tc.count_transcripts, {"normalize": ["lower"]}, "did you mean 'normalise'?"),
        (tc.count_transcripts, {"normalise": "lowr"}, "did you mean 'lower'?"),
        (tc.count_transcripts, {"normalise": {"lower"}}, "normalise is of type set"),
        (tc.count_translations, {"tokeniser": "13a"}, "did you mean 'tokenizer'?"),
        (tc.count_translations, {"tokenizer": None}, "tokenizer is None"),
        (tc.count_translations, {"lowercase": "no"}, "lowercase is 'no' (str): give True or"),
    ],
)
def test_wrong_options_of_one_task_are_named(count, given, message):
    with pytest.raises(tc.UsageError, match=re.escape(message)):
        count(RIGHT, SAID, **given)


@pytest.mark.parametrize("count", OF_TEXTS)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"unit": "speaker"}, "unit is 'speaker' (str): give a list with a value per item"),
        ({"unit": 5}, "unit is 5 (int)"),
        ({"unit": {"a": 1}}, "unit is of type dict"),
        ({"unit": ["a", "b"]}, "unit has 2 entries, but references has 3"),
        ({"unit": ["a", None, "b"]}, "1 empty cell of unit"),
        ({"unit": ["a", float("nan"), "b"]}, "1 empty cell of unit"),
        ({"unit": pd.Series(["a", pd.NA, "b"])}, "1 empty cell of unit"),
        ({"unit": [["a"], ["b"], ["c"]]}, "unit[0] is of type list: give a text or number"),
        ({"unit": np.zeros((3, 2))}, "unit[0] is of type ndarray"),
        ({"place": [object()] * 3}, "place contains object: give texts or numbers"),
        ({"ids": ["a", None, "b"]}, "ids[1] is empty: each"),
        ({"ids": ["a", " ", "b"]}, "ids[1] is empty: each"),
        ({"ids": ["a", "a", "b"]}, "1 id occurs more than once: a"),
    ],
)
def test_wrong_columns_are_named(count, given, message):
    with pytest.raises(tc.InputError, match=re.escape(message)):
        count(RIGHT, SAID, **given)


@pytest.mark.parametrize(
    "of", [list, np.array, pl.Series, pd.Series, iter, lambda v: [np.int64(x) for x in v]]
)
def test_units_and_columns_come_in_any_collection(of):
    items = tc.count_transcripts(
        RIGHT, SAID, ids=of([7, 8, 9]), unit=of([1, 1, 2]), snr=of([3] * 3)
    )
    assert items.ids.tolist() == ["7", "8", "9"]
    assert items.units["unit"][0].tolist() == [1, 1, 2]
    assert items.frame["snr"].to_list() == [3, 3, 3]


def test_cells_of_further_columns_may_be_empty():
    items = tc.count_transcripts(RIGHT, SAID, snr=[1, 2.5, None], noise=["a", float("nan"), pd.NA])
    assert empty_cells(items.frame, "snr") == 1
    assert empty_cells(items.frame, "noise") == 2


def test_what_was_counted_has_a_short_name_and_notes():
    items = tc.count_transcripts([t.title() for t in RIGHT] * 500, SAID * 500)
    assert repr(items).startswith("<Items 'system': 1500 utterances, normalise:none")
    assert any("capital letters" in note for note in items.problems)


def test_segments_come_as_columns_or_frames():
    uem = {name: SEGMENTS[name] for name in ("recording", "start", "end")}
    wanted = tc.count_diarization(SEGMENTS, SEGMENTS, uem=uem)
    frame = pd.DataFrame(SEGMENTS)
    for kind in (frame, frame.astype({"speaker": "category"}), frame.convert_dtypes()):
        found = tc.count_diarization(kind, pl.from_dict(SEGMENTS, strict=False), uem=kind)
        same(found, wanted)


def test_columns_of_an_annotation():
    annotation = Annotation(uri="r")
    for speaker, start, end in zip(
        *(SEGMENTS[k] for k in ("speaker", "start", "end")), strict=True
    ):
        annotation[Segment(start, end)] = speaker
    with pytest.raises(tc.InputError, match="reference is of type Annotation") as refused:
        tc.count_diarization(annotation, SEGMENTS)
    tracks, columns = re.search(r"tracks = (.*), then (.*)$", str(refused.value)).groups()
    known = {"annotation": annotation}
    known["tracks"] = eval(tracks, known)
    same(tc.count_diarization(eval(columns, known), SEGMENTS),
         tc.count_diarization(SEGMENTS, SEGMENTS))  # fmt: skip


ROWS = [("r", "a", 0.0, 4.0), ("r", "b", 4.5, 10.0)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ROWS,
            'polars.DataFrame(reference, schema=[NAMES], orient="row") makes such columns from',
        ),
        ([dict(zip(SEGMENTS, row, strict=True)) for row in ROWS], "such columns from records"),
        (
            "ref.rttm",
            "for a file use truecost.read('ref.rttm', task='diarization').frame",
        ),
        (None, "reference is None: give columns, {"),
        (pl.Series(["r"]), "reference is of type Series: give columns"),
        (SEGMENTS | {"recording": "r"}, "reference['recording'] is 'r' (str): give a list"),
        (SEGMENTS | {"start": [0]}, "lengths: recording 2, speaker 2, start 1, end 2"),
        (SEGMENTS | {"start": [[0], [1]]}, "reference['start'][0] is of type list"),
        (SEGMENTS | {"start": [0, None]}, "1 segment whose start is not a number"),
    ],
)
def test_what_are_no_columns_of_segments_is_refused(given, message):
    with pytest.raises(tc.InputError, match=re.escape(message)):
        tc.count_diarization(given, SEGMENTS)


def test_regions_need_no_speakers():
    with pytest.raises(
        tc.InputError, match=r'uem is 3 .*: give columns, {"recording": \[...\], "st'
    ):
        tc.count_diarization(SEGMENTS, SEGMENTS, uem=3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"collar": "0.25"}, "collar is '0.25' (str): give seconds"),
        ({"merge_gaps": True}, "merge_gaps is True (bool): give seconds"),
        ({"skip_overlap": "no"}, "skip_overlap is 'no' (str): give True or False"),
        ({"name": None}, "name is None: give a text"),
    ],
)
def test_wrong_options_of_diarization_are_named(given, message):
    with pytest.raises(tc.UsageError, match=re.escape(message)):
        tc.count_diarization(SEGMENTS, SEGMENTS, **given)
