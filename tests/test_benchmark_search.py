"""The search that benchmarks make: its files say what was put into them."""

from pathlib import Path

import polars as pl
import pytest

import truecost as tc
from truecost.formats.kwslist import read_kwslist
from truecost.formats.searches import read_ecf, read_kwlist
from truecost.formats.terms import read_lexemes
from truecost.running import score
from truecost.tasks.terms.aligning import load_search
from truecost.tasks.terms.reference import load_reference

FILES, QUERIES, OCCURRENCES, DETECTIONS = 3, 60, 300, 5000


@pytest.fixture
def made(monkeypatch, tmp_path):
    """A small collection, a list of detections and what this was made of."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    from benchmarks import searched

    collection = searched.write_collection(tmp_path, FILES, QUERIES, OCCURRENCES)
    return collection, *searched.write_detections(collection, DETECTIONS)


@pytest.fixture
def search(made):
    """The search as it is read."""
    collection, path, _ = made
    audio, queries = read_ecf(collection.ecf), read_kwlist(collection.kwlist)
    reference = load_reference(audio, queries, speech=read_lexemes(collection.rttm))
    return load_search(read_kwslist(path), reference)


def test_words_hold_the_occurrences(made, search):
    collection, reference = made[0], search.reference
    assert collection.words == FILES * 5000
    assert reference.seconds == FILES * 1800
    assert reference.queries["query"].to_list() == [f"KW-{k:05d}" for k in range(QUERIES)]
    assert collection.occurrences.height == pytest.approx(OCCURRENCES, rel=0.1)
    assert collection.occurrences["query"].n_unique() == 0.95 * QUERIES
    found = reference.occurrences.select("query", "place", "start", "end")
    expected = collection.occurrences.with_columns(pl.col("end").round(4))
    assert [*map(tuple, found.rows())] == [*map(tuple, expected.rows())]
    lengths = reference.queries["text"].str.count_matches(" ") + 1
    assert sorted(lengths.unique()) == [1, 2, 3]


def test_detections_are_what_they_were_made_of(made, search):
    _, _, rows = made
    assert len(search) == len(rows) == DETECTIONS
    assert search.query.tolist() == rows["query"].to_list()
    assert search.score.tolist() == rows["score"].to_list()
    assert search.accepted.tolist() == (rows["score"] >= 6.9).to_list()
    assert rows["true"].sum() == pytest.approx(0.75 * search.reference.targets.height, rel=0.15)
    same = search.is_target == rows["true"].to_numpy()
    assert same.mean() > 0.99  # some false alarms lie by chance on an occurrence


def test_the_same_seed_writes_the_same_files(made, tmp_path):
    from benchmarks import searched

    collection, path, _ = made
    kept = [
        Path(p).read_bytes() for p in (collection.ecf, collection.rttm, collection.kwlist, path)
    ]
    for seed, same in ((1, True), (2, False)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        again = searched.write_collection(folder, FILES, QUERIES, OCCURRENCES, seed)
        other, _ = searched.write_detections(again, DETECTIONS, seed)
        found = [Path(p).read_bytes() for p in (again.ecf, again.rttm, again.kwlist, other)]
        assert found[0] == kept[0]  # audio has no chance in it
        assert [a == b for a, b in zip(found[1:], kept[1:], strict=True)] == [same] * 3


def test_the_peer_finds_the_same_value(search, monkeypatch):
    from benchmarks import terms

    monkeypatch.setattr(terms, "OF_PEER", DETECTIONS)
    scoring = tc.Scoring(tc.preset("nist-std-2006"), measures=("mtwv",), plan=tc.Plan(2))
    [row] = score(search, scoring)
    sweep = terms._Sweep(search)
    assert sweep.by_numpy() == pytest.approx(row.value, abs=1e-12)
    assert sweep.by_python() == pytest.approx(row.value, abs=1e-12)
