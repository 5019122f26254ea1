"""A stream of items whose labels nobody knows but the people who are asked."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from robots import Robot
from truecost import cli
from truecost.errors import UsageError
from truecost.learning.source import Source
from truecost.learning.streams import divided, read_items

STUDY = """
task = "streams"

[source]
name = "table"
file = "items.csv"
features = ["x", "z"]
{source}

[loop]
batch = 12
budget = 3
bootstrap = 6

[learner]
{learner}

[strategy]
name = "random"

[streams]
tolerance = 0.5

[expert]
name = "person"
text = "seen"
"""
NAMES = {"no": "others", "yes": "sevens"}
LOGISTIC, RIDGE = 'name = "logistic"', 'name = "sklearn"\nmodel = "sklearn.linear_model:Ridge"'


@pytest.fixture
def items(tmp_path, monkeypatch):
    """Forty items, of which people see what they are, and their labels in a file of its own."""
    monkeypatch.chdir(tmp_path)
    draws = np.random.default_rng(0)
    rows, labels = ["id,x,z,seen"], ["id,label"]
    for k in range(42):
        target = k % 3 == 0
        x, y = draws.normal(size=2) + 2 * target
        rows.append(f"i{k:02},{x:.4f},{y:.4f},{'yes' if target else 'no'}")
        labels.append(f"i{k:02},{int(target)}")
    Path("items.csv").write_text("\n".join(rows) + "\n")
    Path("labels.csv").write_text("\n".join(labels) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "learner", "say", "label", "flags"),
    [
        # the next case has the same labels, and an order of its own
        pytest.param('target = "seven"', LOGISTIC, str, str, (), marks=pytest.mark.long),
        ('kind = "detection"\norder = "shuffled"', LOGISTIC, str, str, ()),
        ('classes = ["others", "sevens"]', LOGISTIC, NAMES.get,
         lambda text: [*NAMES.values()][int(text)], ("--classes", "others,sevens")),
        ('kind = "numbers"', RIDGE, lambda seen: {"no": "0", "yes": "1"}[seen], str,
         ("--type", "number", "--tolerance", "0.5")),
    ],
)  # fmt: skip
def test_people_answer_and_labels_come_later(
    items, running, capsys, source, learner, say, label, flags
):
    Path("study.toml").write_text(STUDY.format(source=source, learner=learner))
    run = running("run", "study.toml", "-o", "out")
    robot = Robot(run.links()["me"], lambda q, *_: {"label": say(q["source"])}).start()
    code, _, err = run.end(120)
    assert robot.failure is None
    assert code == 3, err
    assert (
        "truecost annotate OUTPUT --report; for errors and costs, write the labels into a table"
        in err
    )
    place = Path("out/logs/random/3")
    with gzip.open(place / "seed-0.jsonl.gz", "rt") as file:
        events = [json.loads(line) for line in file]
    answers = [e for e in events if e["event"] == "answer"]
    assert len(answers) == 6 + 3 * 3
    assert not any("label" in e for e in events if e["event"] == "predict")
    assert cli.run(["annotate", "out", "--report", "--quiet"]) == 0
    assert cli.run(["annotate", "out", "--link", "me"]) == 2  # nobody serves the page any more
    head, *rows = Path("labels.csv").read_text().split()
    pairs = (row.split(",") for row in rows)
    Path("labels.csv").write_text("\n".join([head, *(f"{i},{label(x)}" for i, x in pairs)]) + "\n")
    capsys.readouterr()
    score = ["streams", "score", str(place), *flags, "--labels", "labels.csv", "--no-advice"]
    code = cli.run(score)
    out, err = capsys.readouterr()
    assert code == 0, err
    assert "imlm" in out


@pytest.mark.parametrize(("old", "new", "said"), [
    ("{source}", "", 'no column of labels.*kind = "detection"'),
    ("{source}", 'kind = "classes"', "no column of labels.*classes = "),
    ("{source}", 'classes = ["a"]', "two different classes"),
    ("{source}", 'target = "7"\nclasses = ["a", "b"]', "classes is for"),
    ("{source}", 'target = "7"\norder = "dirichlet"', "dirichlet' needs labels"),
    ("{source}", 'target = "7"\nprevalence = 0.2', "prevalence needs labels"),
    ("{source}", 'target = "7"\npool = 5', "pool needs labels"),
    ("{source}", 'target = "7"\nlabel = "nix"', "nix"),
    ('name = "person"\ntext = "seen"', "", "no column of right labels"),
])  # fmt: skip
def test_what_needs_labels_is_refused(items, capsys, old, new, said):
    text = STUDY.replace(old, new) if old in STUDY else STUDY
    text = text.replace("{source}", 'target = "7"').replace("{learner}", LOGISTIC)
    Path("study.toml").write_text(text)
    assert cli.run(["run", "study.toml", "-o", "out"]) in (2, 3)
    assert re.search(said, capsys.readouterr().err)


def test_classes_of_labels_are_not_named_again(tmp_path):
    place = tmp_path / "items.csv"
    place.write_text("id,label,x\na,1,0.5\nb,0,0.7\n")
    source = Source(name="table", file=str(place), classes=("0", "1"))
    with pytest.raises(UsageError, match="has labels"):
        divided(read_items(source), source, 1, 0, 0)
