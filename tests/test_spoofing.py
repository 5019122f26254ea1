"""a-DCF and t-DCF: worked by hand, beside slow versions on realistic lists of ASVspoof."""

import json
from pathlib import Path

import numpy as np
import pytest

import truecost as tc
from truecost import cli

HAND = {"target": [3, 1, 0.5], "nontarget": [2, -1], "spoof": [1.5, -2]}
BONAFIDE, SPOOFED = (3, 1, 0.5, 2, -1), (1.5, -2)


def columns(kinds, **more):
    pairs = [(score, kind) for kind, scores in kinds.items() for score in scores]
    scores, labels = zip(*pairs, strict=True)
    return {"score": [*map(float, scores)], "label": [*labels], **more}


def slow_a_dcf(scores, kinds, priors=(0.9, 0.05, 0.05), costs=(1, 10, 20)):
    """Every threshold in turn, as the formula is written."""
    best = np.inf
    weights = [p * c for p, c in zip(priors, costs, strict=True)]
    for t in [*np.unique(scores), np.inf]:
        accept = scores >= t
        rates = [np.mean(accept[kinds == k]) for k in ("target", "nontarget", "spoof")]
        cost = weights[0] * (1 - rates[0]) + weights[1] * rates[1] + weights[2] * rates[2]
        best = min(best, cost)
    return best / min(weights[0], weights[1] + weights[2])


def slow_t_dcf(bona, spoof, miss, fa, spoof_fa, priors=(0.9405, 0.0095, 0.05), costs=(1, 10, 10)):
    of_miss, of_fa, of_spoof = (p * c for p, c in zip(priors, costs, strict=True))
    c0 = of_miss * miss + of_fa * fa
    c1, c2 = of_miss - c0, of_spoof * spoof_fa
    found = [
        c0 + c1 * np.mean(bona < t) + c2 * np.mean(spoof >= t)
        for t in [*np.unique([*bona, *spoof]), np.inf]
    ]
    return min(found) / (c0 + min(c1, c2))


def evaluation(seed=1, speakers=20, n=600):
    """Lines as ASVspoof 2019 has them: scores and key of a countermeasure, scores of the ASV."""
    rng = np.random.default_rng(seed)
    scores, key, asv = [], [], []
    for k in range(n):
        spoofed = k % 4 != 0
        attack = f"A{7 + k % 13:02d}" if spoofed else "-"
        word = "spoof" if spoofed else "bonafide"
        score = rng.normal(-1 if spoofed else 1.5, 1.2)
        scores.append((f"LA_E_{k:07d}", attack, word, score))
        key.append(f"LA_{k % speakers:04d} LA_E_{k:07d} - {attack} {word}")
        kind = "spoof" if spoofed else ("nontarget" if k % 3 else "target")
        place = {"spoof": 0.5, "nontarget": -2, "target": 2}[kind]
        asv.append((attack if spoofed else "bonafide", kind, rng.normal(place, 1.5)))
    return scores, key, asv


def run(line, capsys):
    code = cli.run(line.split())
    return code, *capsys.readouterr()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores, key, asv = evaluation()
    texts = {
        "cm.txt": [f"{u} {a} {w} {s:.6f}" for u, a, w, s in scores],
        "key.txt": key,
        "bare.txt": [f"{u} {s:.6f}" for u, _, _, s in scores],
        "asv.txt": [f"{a} {k} {s:.6f}" for a, k, s in asv],
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path


def test_a_dcf_by_hand():
    """At t = 3 two of three targets are missed and nothing else is accepted: 0.6 / 0.9."""
    found = tc.score(columns(HAND), type="score", measures="a_dcf")
    [row] = found.rows
    assert row.value == pytest.approx(2 / 3)
    assert (row.naive, row.direction) == (1, "lower")


def test_t_dcf_by_hand(tmp_path, monkeypatch):
    """The rates of the verification are 0.05, 0.05 and 0.4: 0.60282."""
    monkeypatch.chdir(tmp_path)
    asv = [("target", 19, 1), ("nontarget", 1, 19), ("spoof", 2, 3)]
    lines = [f"{k},{s}" for k, yes, no in asv for s in [1] * yes + [-1] * no]
    (tmp_path / "asv.csv").write_text("label,score\n" + "\n".join(lines) + "\n")
    data = columns({"bonafide": BONAFIDE, "spoof": SPOOFED})
    how = {"type": "score", "measures": "t_dcf", "asv": "asv.csv", "asv_threshold": 0}
    [row] = tc.score(data, **how).rows
    assert row.value == pytest.approx(0.60282, abs=5e-6)
    slow = slow_t_dcf(np.array(BONAFIDE), np.array(SPOOFED), 0.05, 0.05, 0.4)
    assert row.value == pytest.approx(slow)


@pytest.mark.parametrize("seed", range(3))
def test_every_threshold_in_turn_gives_the_same(seed):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["target", "nontarget", "spoof"], 300, p=[0.3, 0.4, 0.3])
    shift = {"target": 1.5, "nontarget": -1, "spoof": 0}
    scores = np.round(rng.normal([shift[k] for k in kinds], 1), 1)  # many are tied
    asv = rng.normal([2 * shift[k] for k in kinds], 2)
    data = {"score": scores, "label": kinds, "verified": asv}
    text = "a_dcf:target=0.8+nontarget=0.1+spoof=0.1+miss=1+fa=5+spoof_fa=8"
    measures = ["a_dcf", text, "t_dcf"]
    how = {"type": "score", "measures": measures, "asv": "verified", "asv_threshold": 0.5}
    rows = tc.score(data, **how).rows
    accept = asv >= 0.5
    rates = [np.mean(accept[kinds == k]) for k in shift]
    bona = kinds != "spoof"
    assert [row.value for row in rows] == pytest.approx(
        [
            slow_a_dcf(scores, kinds),
            slow_a_dcf(scores, kinds, (0.8, 0.1, 0.1), (1, 5, 8)),
            slow_t_dcf(scores[bona], scores[~bona], 1 - rates[0], rates[1], rates[2]),
        ]
    )


def test_the_interval_holds_the_value_and_knows_units():
    rng = np.random.default_rng(4)
    kinds = rng.choice(["target", "nontarget", "spoof"], 900, p=[0.3, 0.4, 0.3])
    shift = {"target": 1.5, "nontarget": -1.5, "spoof": -0.5}
    scores = rng.normal([shift[k] for k in kinds], 1)
    data = {"score": scores, "label": kinds, "spk": np.arange(900) % 30}
    [row] = tc.score(data, type="score", measures="a_dcf", unit="spk").rows
    assert row.lower < row.value < row.upper < 1
    assert (row.n_units, row.factors) == (30, ("spk",))
    assert [k.of for k in row.rates] == ["target", "nontarget", "spoof"]


def test_files_of_asvspoof(here, capsys):
    """Scores with labels, or without and a key; the ASV's own list, at its equal error rate."""
    scores, _, asv = evaluation()
    line = "--type score --measure t_dcf,eer --asv asv.txt --json -q --no-advice"
    code, out, err = run(f"score cm.txt {line}", capsys)
    assert code == 0, err
    rows = json.loads(out)["rows"]
    kinds, verified = np.array([k for _, k, _ in asv]), np.array([round(s, 6) for *_, s in asv])
    best = min(
        np.unique(verified[kinds != "spoof"]),
        key=lambda t: abs(
            np.mean(verified[kinds == "target"] < t) - np.mean(verified[kinds == "nontarget"] >= t)
        ),
    )
    rates = [np.mean(verified[kinds == k] >= best) for k in ("target", "nontarget", "spoof")]
    values = np.array([round(s, 6) for *_, s in scores])
    bona = np.array([w == "bonafide" for _, _, w, _ in scores])
    slow = slow_t_dcf(values[bona], values[~bona], 1 - rates[0], rates[1], rates[2])
    assert rows[0]["value"] == pytest.approx(slow)
    assert "asv:asv.txt|asv-threshold:" in rows[0]["signature"]
    key = "--key key.txt --map unit=speaker"
    code, out, err = run(f"score bare.txt {key} {line}", capsys)
    assert code == 0, err
    again = json.loads(out)["rows"]
    assert [r["value"] for r in again] == [r["value"] for r in rows]
    assert again[0]["n_units"] == 20


def test_trials_with_three_labels_are_read_as_they_come(tmp_path, monkeypatch, capsys):
    """`enroll test score target|nontarget|spoof`, and the protocol beside scores of Kaldi."""
    monkeypatch.chdir(tmp_path)
    data = columns(HAND)
    rows = [*zip(data["score"], data["label"], strict=True)]
    lines = [f"e{k % 2} t{k} {s} {w}" for k, (s, w) in enumerate(rows)]
    (tmp_path / "sasv.txt").write_text("\n".join(lines) + "\n")
    code, out, err = run("score sasv.txt --type score --measure a_dcf --json", capsys)
    assert code == 0, err
    assert json.loads(out)["rows"][0]["value"] == pytest.approx(2 / 3)
    assert "counted as nontarget: nontarget (2), spoof (2)" in err
    key = [
        f"e{k % 2} t{k} {'A01' if w == 'spoof' else 'bonafide'} {w}"
        for k, (_, w) in enumerate(rows)
    ]
    (tmp_path / "trials.txt").write_text("\n".join(key) + "\n")
    kaldi = [f"e{k % 2} t{k} {s}" for k, (s, _) in enumerate(rows)]
    (tmp_path / "scores.txt").write_text("\n".join(kaldi) + "\n")
    line = "score scores.txt --key trials.txt --type score --measure a_dcf --json"
    code, out, err = run(line, capsys)
    assert code == 0, err
    assert json.loads(out)["rows"][0]["value"] == pytest.approx(2 / 3)


def test_systems_are_compared_and_subsets_without_a_kind_say_why(here, capsys):
    data = columns(HAND)
    other = [s + (k == "target") for s, k in zip(data["score"], data["label"], strict=True)]
    ids = [str(k) for k in range(7)]
    one, two = ({**data, "id": ids, "score": s} for s in (data["score"], other))
    found = tc.compare({"one": one, "two": two}, type="score", measures="a_dcf")
    kinds = [row.kind for row in found.rows]
    assert kinds.count("difference") == 1
    gender = ["f", "f", "m", "f", "m", "f", "f"]
    [_, lone, *_] = tc.score(
        {**data, "g": gender}, type="score", measures="a_dcf", subsets=("g = 'm'",)
    ).rows
    assert lone.value is None
    assert "no spoofed trial" in lone.reason


def test_each_attack_against_all_bona_fide_trials(here):
    def rows(*subsets):
        asked = {"type": "score", "measures": "eer", "replicates": 20}
        found = tc.score("cm.txt", subsets=subsets, **asked)
        notes.append([problem.message for problem in found.problems])
        return {row.dims.get("subset"): row for row in found.rows}

    notes = []
    attacks = [f"A{k:02d}" for k in range(7, 20)]
    whole, *found = rows("attack vs -").items()
    assert [name for name, _ in found] == [f"attack={a} vs -" for a in attacks]
    by_hand = rows("attack IN ('-', 'A17')")["attack IN ('-', 'A17')"]
    joined = dict(found)["attack=A17 vs -"]
    assert (joined.value, joined.lower, joined.n_trials) == (
        by_hand.value, by_hand.lower, by_hand.n_trials,
    )  # fmt: skip
    assert joined.counts["targets"] == whole[1].counts["targets"]
    lone = rows("attack")["attack=A17"]
    assert lone.value is None
    assert lone.reason == "undefined: there are no targets"
    [said] = [text for text in notes[-1] if "vs LEVEL" in text]
    assert said.startswith("14 subsets have trials of one class only (attack=-, attack=A07, ")
    assert said.endswith("'attack vs LEVEL' joins each with the level of attack that has the other "
                         "class")  # fmt: skip
    with pytest.raises(
        tc.InputError, match=r"'attack vs A99': name a level of attack after vs.*-, A07"
    ):
        rows("attack vs A99")
    with pytest.raises(tc.UsageError, match=r"subset .*: th"):
        rows("atack vs -")


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("--measure a_dcf --engine serial", 2, "a_dcf, which is counted in memory"),
        ("--measure t_dcf", 2, "--asv COLUMN of the same trials, or --asv FILE"),
        ("--measure t_dcf --asv nowhere.txt", 2, "there is no such file, and no such column"),
        ("--measure eer --asv asv.txt", 2, "--asv is for measure t_dcf"),
        ("--measure t_dcf --asv-threshold 1", 2, "--asv-threshold is for"),
        ("--measure t_dcf --asv key.txt", 2, "no column"),
        ("--measure a_dcf:0.5", 2, "choose shim-2024 or asvspoof-2021, or give"),
        ("--measure a_dcf:target=0.5+nontarget=0.1+spoof=0.1", 2, "sum to 1"),
        ("--measure a_dcf:target=0.9+nontarget=0.05+spoof=0.05+fa=0", 2, "costs lie above 0"),
    ],
)
def test_what_is_refused(here, capsys, line, code, message):
    found, _, err = run(f"score cm.txt --type score {line} -o out", capsys)
    assert found == code
    assert message in err
    assert not (here / "out").exists()


def test_trials_without_spoofs_have_no_such_costs():
    with pytest.raises(tc.UsageError, match="need spoofed trials"):
        tc.score(columns({"target": [1, 2], "nontarget": [0]}), type="score", measures="a_dcf")


KINDS = ["target", "nontarget", "spoof", "target", "nontarget", "spoof"]
VERIFIED = [3, -3, 1.5, 1, -1, -2]
REPLAYED = "R3 M3 d4 r1 m1 s4 c4"


def lists_of_2021(track="alaw ita_tx A07"):
    """`ASV/trial_metadata.txt`, whose names carry the channel, and the list of scores beside it."""
    names = [f"LA_{k // 2:04d}-alaw-ita_tx LA_E_{k}-alaw-ita_tx" for k in range(6)]
    key = [
        f"{n} {track if w == 'spoof' else track.replace('A07', 'bonafide')} {w} notrim eval"
        for n, w in zip(names, KINDS, strict=True)
    ]
    Path("key21.txt").write_text("\n".join(key[::-1]) + "\n")
    lines = [f"{n} {s}\n" for n, s in zip(names, VERIFIED, strict=True)]
    Path("asv21.txt").write_text("".join(lines))


@pytest.mark.parametrize("track", ["alaw ita_tx A07", REPLAYED])
def test_the_key_of_the_verification_of_asvspoof_2021(here, capsys, track):
    lists_of_2021(track)
    line = "score asv21.txt --key key21.txt --type score --measure a_dcf --json -q"
    code, out, err = run(line, capsys)
    assert code == 0, err
    alone = tc.score({"score": VERIFIED, "label": KINDS}, type="score", measures="a_dcf").rows[0]
    assert json.loads(out)["rows"][0]["value"] == pytest.approx(alone.value)


def test_scores_and_labels_of_the_verification_in_two_files(here, capsys):
    """The three files of ASVspoof 2021: as where the verification's scores stand with labels."""
    lists_of_2021()
    both = [f"A07 {w} {s}\n" for w, s in zip(KINDS, VERIFIED, strict=True)]
    Path("both.txt").write_text("".join(both))
    values = []
    line = "score bare.txt --key key.txt --type score --measure t_dcf --json -q --no-advice"
    for asv in ("--asv both.txt", "--asv asv21.txt --asv-key key21.txt"):
        code, out, err = run(f"{line} {asv}", capsys)
        assert code == 0, err
        values.append(json.loads(out)["rows"][0]["value"])
    assert values[0] == values[1] < 1
    (here / "study.toml").write_text(
        'measures = ["t_dcf"]\n[data]\ntype = "score"\nkey = "key.txt"\nasv = "asv21.txt"\n'
        'asv_key = "key21.txt"\n[systems.cm]\nfile = "bare.txt"\n'
    )
    assert cli.run(["run", "study.toml", "-q", "-o", "out"]) == 0
    found = json.loads((here / "out" / "result.json").read_text())
    assert found["rows"][0]["value"] == values[0]
    assert {"asv21.txt", "key21.txt"} <= {Path(i["file"]).name for i in found["inputs"]}
    capsys.readouterr()
    lost = Path("asv21.txt").read_text().splitlines()[:-1]
    Path("asv21.txt").write_text("\n".join(lost) + "\n")
    code, _, err = run(f"{line} --asv asv21.txt --asv-key key21.txt", capsys)
    assert code == 3
    assert "1 trial of the key of --asv key21.txt without a score" in err
    code, _, err = run(f"{line} --asv-key key21.txt", capsys)
    assert code == 2
    assert "--asv-key is for --asv" in err


def test_the_key_of_the_deepfakes_of_asvspoof_2021(here, capsys):
    words = ["bonafide", "spoof", "spoof", "bonafide"]
    key = [
        f"LA_{k % 2:04d} DF_E_{k} mp3m4a asvspoof {'A09' if w == 'spoof' else '-'} {w} notrim eval "
        f"{'traditional_vocoder' if w == 'spoof' else 'bonafide'} - - - -"
        for k, w in enumerate(words)
    ]
    Path("df.txt").write_text("\n".join(key) + "\n")
    Path("cm.txt").write_text(
        "".join(f"DF_E_{k} {s}\n" for k, s in enumerate((2.5, -1.5, 1.5, 0.5)))
    )
    line = "score cm.txt --key df.txt --type score --measure auc --subset vocoder --json -q"
    code, out, err = run(line, capsys)
    assert code == 0, err
    assert json.loads(out)["rows"][0]["value"] == 0.75
