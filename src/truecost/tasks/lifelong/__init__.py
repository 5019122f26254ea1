"""Lifelong learning with a human expert: scores across time, and what help costs (Prokopalo et al.
2020).

::

    lived = tc.lifelong.penalise("translation", base, adapted, references, corrected=["7"])
    scoring = tc.Scoring(choices=tc.lifelong.LifelongScoring(score="bleu"))
    for row in tc.score_system(lived, scoring):
        print(row)

- A `Lifelong` holds what every version of a system puts out on every test set, counted by item;
- `from_matrix` makes one of an array of scores by version and time, `read_scores` of a table;
- `tc.score` gives the scores under each `Policy`, the penalty of the help, forgetting, transfer and
  the area under the learning curve, with their intervals; `LifelongScoring` says what is left open;
- `describe` makes what reports draw.
"""

from typing import TYPE_CHECKING

from truecost.face import Face
from truecost.formats.declared import TABLES, Formats
from truecost.lazy import attach

MAP_KEYS: dict[str, str] = {
    "id": "id of the item",
    "label": "reference output of the item",
    "version": "version of the model, in order of creation",
    "learnt": "time at which the version was made",
    "time": "time at which the test set was collected",
    "score": "score of the version on the data of the time, or on the item",
    "base": "score before the help of a person",
    "adapted": "score after the system has learnt from the help",
    "impaired": "score before the help, with the corrected parts made wrong",
    "corrected": "score before the help, with the corrected parts put right",
    "seed": "run, if there are several",
    "unit": "unit (speaker, document): its items are resampled together",
    "weight": "weight of the item (inverse inclusion probability)",
}

FACE = Face(
    name="lifelong",
    title="Lifelong learning",
    work="truecost.tasks.lifelong.work:WORK",
    live="truecost.learning.live.checks:LIFELONG_LIVE",
    data=("labels", "reference", "metadata", "map", "classes", "input_format"),
    measures=("truecost.resources.measures", "truecost.tasks.lifelong.measures"),
    map_keys=MAP_KEYS,
    formats=Formats(
        of="lifelong",
        holds="events, or scores by version and time",
        texts={
            **TABLES,
            "matrix": "score matrix (.json, .npy, .npz), or results of Avalanche (.json)",
        },
        readers={"matrix": "truecost.formats.matrices:read_matrix"},
        endings={".json": "matrix", ".npy": "matrix", ".npz": "matrix"},
        columns=("version",),
    ),
    in_parts=("score", "compare", "plan", "validate", "leaderboard"),
    systems=("resources", "runs", "strategy", "budget", "learner", "strategy_options"),
    tables={
        "lifelong": "truecost.tasks.lifelong.options:LifelongTable",
        "policies": "*truecost.tasks.lifelong.options:PolicyTable",
        "transcripts": "truecost.outputs.options:TranscriptsTable",
        "translation": "truecost.outputs.options:TranslationTable",
        "diarization": "truecost.outputs.options:DiarizationTable",
        "timing": "truecost.person.timing:TimingTable",
    },
    options=("lifelong", "timing"),
    application=("cost_matrix",),
    prices=("error", "person", "cpu", "gpu", "memory"),
    engine=("engine",),
    words={"method": ("auto", "percentile")},
    commands=(
        (
            "penalise",
            "truecost.tasks.lifelong.commands:penalise",
            "Score one output before and after a person's help, with the penalty of the help.",
        ),
        (
            "curve",
            "truecost.tasks.lifelong.commands:curve",
            "Compute the area under the curve of the score against the cost of help.",
        ),
    ),
    about={
        "": "Lifelong learning: versions of a system across time.",
        "score": "Score versions across time: value to users, forgetting, cost of help.",
        "compare": "Compare each further system across time with the first: paired difference and "
        "ratio, with intervals.",
        "plan": "Estimate how many more test items or runs would narrow the interval.",
        "leaderboard": "Rank systems by the last version under a policy; the rank is 1 plus the "
        "number of better systems.",
        "validate": "Check tables of scores and event logs, and list every fault and warning.",
        "files": "Tables of scores (version, time, score; or version and a column for each time), "
        "learning curves or event logs, a file for each system; a folder or a quoted "
        "pattern with a file for each run",
        "measure": "Measure as NAME, or NAME:SCORE for another score; repeat or separate by "
        "commas. "
        "See: truecost list measures",
        "subset": "Column of the items (each value is a subset), or condition on columns; may be "
        "repeated.",
    },
    examples={
        "score": "rehearsing.csv --lower --policy recent:1",
        "compare": "plastic.csv rehearsing.csv --lower --policy recent:1",
        "plan": "rehearsing.csv --lower",
        "validate": "rehearsing.csv --lower",
        "leaderboard": "plastic.csv rehearsing.csv --lower --policy recent:1 -o board",
        "curve": "curve.csv --lower --max-cost 100",
    },
    shipped=True,
)

if TYPE_CHECKING:
    from truecost.tasks.lifelong.describing import describe_lifelong
    from truecost.tasks.lifelong.descriptions import LifelongDescription as LifelongDescription
    from truecost.tasks.lifelong.options import LifelongScoring as LifelongScoring
    from truecost.tasks.lifelong.penalising import penalise as penalise
    from truecost.tasks.lifelong.records import Lifelong as Lifelong
    from truecost.tasks.lifelong.settings import Policy as Policy
    from truecost.tasks.lifelong.tables import TableOptions as TableOptions
    from truecost.tasks.lifelong.tables import from_matrix as from_matrix
    from truecost.tasks.lifelong.tables import read_scores as read_scores

    describe = describe_lifelong
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
