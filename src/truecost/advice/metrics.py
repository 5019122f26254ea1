"""Rules about metrics: paper 003, section 3."""

from truecost.advice.rule import Rule

SCORE = "truecost score"

RULES = (
    Rule(
        "metric-first",
        "3",
        "a metric chosen late, or after the results, suits the results: choose it before models "
        "and data, from what errors cost the user, and keep it",
        "",
        "costs in study.toml",
    ),
    # 3.1 Classification decisions
    Rule(
        "threshold-on-evaluation-data",
        "3.1",
        "a threshold (or calibration) chosen on the evaluation data says nothing about decisions "
        "in use: fix it before, and report the actual cost",
        SCORE,
        "act_dcf, nec",
    ),
    Rule(
        "threshold-swept",
        "3.1, 3.3",
        "the area under a curve sweeps all thresholds, a system in use has one: report the cost "
        "at that one, or cross entropy while costs are unknown",
        SCORE,
        "act_dcf, cllr",
    ),
    Rule(
        "fpr-at-fnr",
        "3.1",
        "one error rate at a given other one sets the threshold on the evaluation data: nobody "
        "can do so in use; fix the threshold before, and report both rates there",
        SCORE,
        "p_miss, p_fa, act_dcf",
    ),
    Rule(
        "expected-cost",
        "3.1",
        "where a system decides, evaluate its decisions, each error at what it costs the user: "
        "the expected cost, of which total and balanced error are special cases",
        "",
        "--cost-miss, --cost-fa, --prior, --cost-matrix",
    ),
    Rule(
        "f-score",
        "3.1",
        "F scores and the Matthews correlation ignore what errors cost, and F moves with the "
        "prevalence: use an expected cost with the costs of the application",
        SCORE,
        "nec",
    ),
    Rule(
        "macro-f1",
        "3.1",
        "averaged F scores turn one decision among classes into many between two, and micro and "
        "macro disagree: use an expected cost with a matrix of costs",
        SCORE,
        "--cost-matrix",
    ),
    # 3.2 Variable-length discrete sequences
    Rule(
        "insertions-hidden",
        "3.2",
        "accuracy of units hides insertions: report the error rate (word, phone, character), "
        "which counts them",
        "truecost transcripts score",
        "wer, per, cer",
    ),
    Rule(
        "units-of-hypothesis",
        "3.2",
        "an error rate divided by the length of the output pays for babble: divide by the units "
        "of the reference",
        "truecost transcripts score",
        "wer",
    ),
    Rule(
        "rate-in-percent",
        "3.2",
        "a rate written as percent without the factor of 100 is wrong by it: store shares, say "
        "the unit where people read",
        "",
        "truecost transcripts score",
    ),
    # 3.3 Class posterior probabilities
    Rule(
        "posteriors-for-unknown-costs",
        "3.3",
        "while costs are unknown no threshold can be judged: put out posteriors, and judge them "
        "by a proper scoring rule (cross entropy, Brier score)",
        "",
        "nce, cllr, nbs",
    ),
    # 3.4 Regressors
    Rule(
        "mae-or-mse",
        "3.4",
        "absolute error counts two errors of 1 like one of 2, squared error like half of it: take "
        "the one that matches how users feel deviations",
        "",
        "nmae, nmse",
    ),
    # 3.5 The need for a reference value
    Rule(
        "naive-reference",
        "3.5",
        "a figure without that of the best naive baseline cannot be judged: divide by it, so that "
        "1.0 is no better than knowing the priors alone (NEC, NTE, NCE)",
        "",
        "nec, nte, nce",
    ),
    # 3.6 Common pitfalls
    Rule(
        "accuracy-without-reference",
        "3.5, 3.6",
        "accuracy means little without its reference, the share of the largest class: report the "
        "normalised total error",
        SCORE,
        "nte",
    ),
    Rule(
        "accuracy-on-imbalanced-data",
        "3.6",
        "accuracy all but leaves out a rare class, which may be the one that matters: use a "
        "normalised expected cost with a higher cost for missing it",
        SCORE,
        "nec --cost-miss",
    ),
    Rule(
        "ece-is-no-quality",
        "3.6",
        "calibration error is no quality: a system that always says the priors has none; use a "
        "proper scoring rule such as normalised cross entropy",
        SCORE,
        "nce, cllr",
    ),
    # 3.7 Discussion
    Rule(
        "downstream",
        "3.7",
        "where another system uses the output, its task has the last word: score that, and use "
        "the proxy only to be fast",
        "",
        "one study for each task",
    ),
    Rule(
        "annotators-disagree",
        "3.7",
        "where annotators disagree one true label is made up: decide from the use whether any "
        "label that some accept is right, or votes count",
        "",
        "--annotators any, --annotators votes",
    ),
    Rule(
        "errors-that-matter",
        "3.7",
        "not every difference from the reference bothers a user (boundaries of speech, short "
        "pauses, spelling): state what counts as an error, from the use",
        "",
        "--collar, --normalise",
    ),
    Rule(
        "one-application",
        "3.7",
        "no application in mind means no reason for any decision: state one, or a few, with costs "
        "and prior, and let it guide the protocol",
        "",
        "[applications] of a study",
    ),
)
