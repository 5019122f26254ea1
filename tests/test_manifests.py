"""Manifests of NeMo and of the Open ASR Leaderboard, as `write_manifest` writes them."""

import json

import pytest

import truecost as tc
from truecost import cli

RIGHT = ["so where is it", "over there", "i see", "no"]
FIRST = ["so where it", "over their", "i see", "no"]
SECOND = ["so where is it", "over there", "i see", ""]


def rows_of(said, **more):
    return [
        {"audio_filepath": f"sample_{k}", "duration": 1.5, "time": 0.1, "text": right,
         "pred_text": text, **more}
        for k, (right, text) in enumerate(zip(RIGHT, said, strict=True))
    ]  # fmt: skip


def written(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def paths(tmp_path):
    names = [f"MODEL_org-{m}_DATASET_esb_ami_test.jsonl" for m in ("a", "b")]
    said = (FIRST, SECOND)
    return [written(tmp_path / n, rows_of(of)) for n, of in zip(names, said, strict=True)]


def test_a_manifest_is_a_system_and_its_reference(paths, capsys):
    outcome = tc.score(paths[0], task="transcripts", measures="wer", replicates=20)
    assert outcome.estimates[0].value == pytest.approx(2 / 9)  # "is" deleted, "there" substituted
    assert cli.run(["transcripts", "score", paths[0], "--measure", "wer", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"][0]["value"] == outcome.estimates[0].value
    twice = tc.score(
        paths[0], reference=paths[0], task="transcripts", measures="wer", replicates=20
    )
    assert twice.to_json() == outcome.to_json()
    assert not any("byte for byte" in p.message for p in twice.problems)


def test_manifests_of_several_models_are_compared(paths, capsys):
    found = tc.compare(paths, task="transcripts", measures="wer", replicates=20)
    assert [e.value for e in found.estimates] == pytest.approx([2 / 9, 1 / 9])
    command = ["transcripts", "compare", *paths, "--measure", "wer", "--replicates", "20", "--json"]
    assert cli.run(command) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [r["value"] for r in rows if r["kind"] == "value"] == pytest.approx([2 / 9, 1 / 9])


def test_a_manifest_without_outputs_is_a_reference(tmp_path, paths):
    bare = [{k: row[k] for k in ("audio_filepath", "text")} for row in rows_of(FIRST)]
    reference = written(tmp_path / "ref.json", bare)
    how = {"task": "transcripts", "measures": "wer", "replicates": 20}
    assert tc.score(paths[0], reference=reference, **how).estimates[0].value == pytest.approx(2 / 9)
    (tmp_path / "said.csv").write_text(
        "id,text\n" + "".join(f"sample_{k},{t}\n" for k, t in enumerate(FIRST))
    )
    found = tc.score(tmp_path / "said.csv", reference=reference, **how)
    assert found.estimates[0].value == pytest.approx(2 / 9)
    with pytest.raises(tc.InputError, match="no line has the key pred_text, so"):
        tc.score(reference, reference=reference, **how)


def test_any_key_of_a_manifest_may_be_mapped(tmp_path, paths, capsys):
    """Its own names, as they stand in the file; an output of another name beside `pred_text`."""
    how = {"task": "transcripts", "measures": "wer", "replicates": 20}
    for columns in ({"text": "pred_text"}, {"id": "audio_filepath"}):
        found = tc.score(paths[0], reference=paths[0], **columns, **how)
        assert found.estimates[0].value == pytest.approx(2 / 9)
    rows = [row | {"lm": text} for row, text in zip(rows_of(FIRST), SECOND, strict=True)]
    path = written(tmp_path / "two.jsonl", rows)
    command = ["transcripts", "score", path, path, "--map", "text=lm", "--replicates", "20"]
    assert cli.run([*command, "--measure", "wer", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert row["value"] == pytest.approx(1 / 9)
    other = [{"utt": k, **{n: v for n, v in row.items() if n != "pred_text"}}
             for k, row in enumerate(rows)]  # fmt: skip
    path = written(tmp_path / "other.jsonl", other)
    found = tc.score(path, reference=path, text="lm", unit="utt", **how)
    assert found.estimates[0].value == pytest.approx(1 / 9)
    with pytest.raises(
        tc.InputError, match=r"contains no output; if the output has another key, use text=KEY"
    ):
        tc.score(path, reference=path, **how)


def test_references_that_differ_are_told(tmp_path, paths):
    rows = rows_of(SECOND)
    rows[1]["text"] = "over here"
    other = written(tmp_path / "other.jsonl", rows)
    found = tc.score(other, reference=paths[0], task="transcripts", replicates=20)
    said = "1 utterance has another reference in"
    assert any(said in p.message and "sample_1" in p.message for p in found.problems)


def test_chunks_of_a_session_are_put_together(tmp_path):
    chunks = [
        {"audio_filepath": f"s{k}", "duration": 2.0, "time": 1.0, "text": "one two three four",
         "pred_text": text, "parent_id": "call", "chunk_index": k}
        for k, text in ((1, "three four"), (0, "one too"))
    ]  # fmt: skip
    path = written(tmp_path / "long.jsonl", chunks)
    how = {"task": "transcripts", "measures": "wer", "replicates": 20}
    assert tc.score(path, **how).estimates[0].value == pytest.approx(1 / 4)
    with pytest.raises(tc.InputError, match="the chunks of call are not numbered from 0"):
        tc.score(written(tmp_path / "part.jsonl", chunks[:1]), **how)


def test_what_lacks_its_keys_is_refused(tmp_path):
    path = written(tmp_path / "m.jsonl", [{"audio_filepath": "a", "words": "x"}])
    with pytest.raises(tc.InputError, match=r"there is no text; a line of a manifest has"):
        tc.score(path, reference=path, task="transcripts")
