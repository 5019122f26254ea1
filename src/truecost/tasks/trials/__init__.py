"""Trials: scored decisions, each with a label that says what is right."""

from typing import TYPE_CHECKING

from truecost.face import Face
from truecost.formats.declared import Formats
from truecost.lazy import attach
from truecost.names import FORMATS, SPOOFING

MAP_KEYS: dict[str, str] = {
    "id": "trial id: files are joined and systems are paired by it; a+b joins the values of "
    "two columns",
    "score": "score; a+b+c for a score of each class",
    "label": "true class (or true number)",
    "soft": "probability that the trial is a target, instead of a label",
    "annotators": "labels of the annotators, instead of a label: a+b+c, empty for no answer, or "
    "one column with labels separated by |",
    "unit": "unit (speaker, session): its trials are resampled together; a+b if a trial has "
    "two units (enrolled and test speaker)",
    "unit2": "second unit, crossed with the first",
    "stratum": "stratum of the unit: units (with --resample blocks: blocks of units) are drawn "
    "within each stratum",
    "weight": "weight of the trial (inverse inclusion probability)",
    "duration": "seconds of audio of the trial, or of its recording, for false alarms per hour",
    "recording": "recording of the trial: the duration of each recording counts once",
}

FACE = Face(
    name="trials",
    title="Trials",
    work="truecost.tasks.trials.work:WORK",
    measures=(  # those of the usual ones first: the others are imported when they are asked for
        *(
            f"truecost.tasks.trials.measures.{name}"
            for name in ("decisions", "losses", "thresholds")
        ),
        "truecost.tasks.trials.measures",
        "truecost.core.columns",
    ),
    map_keys=MAP_KEYS,
    formats=Formats(
        holds="scores or labels of trials",
        texts={
            **FORMATS,
            **SPOOFING,
            "lm-eval": "samples of lm-evaluation-harness, as --log_samples writes them (.jsonl)",
            "inspect": "log of inspect_ai (.eval, .json)",
        },
        readers={
            "lm-eval": "truecost.formats.harness:read_lm_eval",
            "inspect": "truecost.formats.inspecting:read_inspect",
        },
        endings={".eval": "inspect"},
        marks={"lm-eval": ("doc_id", "filtered_resps"), "inspect": ("version", "status", "eval")},
        recognise="truecost.formats.declared:by_content",
        any_ending=True,
    ),
    data=(
        *("type", "map", "key", "metadata", "target", "classes", "annotators", "accept"),
        *("missing", "llr_base", "training_prior", "threshold", "threshold_by", "clip"),
        *("allow_reversed", "hours", "background"),
        *("higher", "direction", "machine", "asv", "asv_key", "asv_threshold"),
        *("input_format", "filter", "key_format"),
    ),
    systems=("resources",),
    options=("systems", "threshold"),
    choosing="threshold.choose",
    in_parts=("score", "compare", "plan"),
    tables={
        "methods": "truecost.protocol.options:MethodsTable",
        "spurious": "truecost.protocol.options:SpuriousTable",
        "threshold": "truecost.tasks.trials.options:ThresholdTable",
        "calibration": "truecost.calibration:CalibrationTable",
    },
    application=("cost_miss", "cost_fa", "prior", "preset", "priors", "cost_matrix"),
    prices=("miss", "false_alarm", "error", "cpu", "gpu", "memory", "waiting"),
    interval=(
        *("level", "replicates", "seed", "method", "icc"),
        *("resample", "block_length", "hold", "jobs"),
    ),
    engine=("engine", "cache"),
    shown={"engine": "serial; small files are read at once, large files in parts"},
    wanted="trials",
    beside=("also",),
    commands=(
        (
            "calibrate",
            "truecost.tasks.trials.commands:calibrate",
            "Turn scores into likelihood ratios.",
        ),
    ),
    about={
        "": "Trials with scores or decisions (the default task).",
        "score": "Score systems: costs and error rates with confidence intervals.",
        "files": "Score files, folders of arrays, or - for standard input",
        "subset": 'Column (each value is a subset) or condition such as "snr < 10"; may be '
        "repeated.",
        "wanted": "File with the ids of the expected trials; its labels, if any, are not read.",
    },
    examples={
        "score": "network.csv --type llr --id trial --unit speaker --prior 0.05",
        "compare": "logistic.csv network.csv --type llr --id trial --unit speaker --prior 0.05",
        "plan": "network.csv --type llr --unit speaker --prior 0.05",
        "validate": "network.csv --type llr --id trial --trials logistic.csv",
        "threshold": "network.csv --type llr --unit speaker --max-p-fa 0.01",
        "leaderboard": "logistic.csv network.csv --type llr --id trial --unit speaker -o board",
    },
    shipped=True,
)

if TYPE_CHECKING:
    from truecost.study.columns import Options as Options
    from truecost.tasks.trials.loading import load as load
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
