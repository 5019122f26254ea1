"""Rules about what a figure is worth: paper 003, section 4."""

from truecost.advice.rule import Rule

COMPARE = "truecost methods compare"
RUN = "truecost methods run"

RULES = (
    Rule(
        "intervals-not-p-values",
        "4",
        "a p-value says no more than whether; an interval says how large the value or difference "
        "may be: report intervals",
        "",
        "truecost compare",
    ),
    # 4.1 Evaluation of systems
    Rule(
        "paired-difference",
        "4.1",
        "two intervals that overlap do not tell which system is better: take the interval of "
        "the difference on the same data",
        "",
        "truecost compare",
    ),
    Rule(
        "ignore-correlation",
        "4.1",
        "trials of one speaker, session or document are not independent: an interval that takes "
        "them so is too narrow; resample whole units",
        "truecost score",
        "--map unit=COLUMN",
    ),
    Rule(
        "too-few-units",
        "4.1",
        "too few units, or errors, to say anything: the interval covers less than it says; "
        "collect more, and see how many with truecost plan",
        "truecost score; truecost protocol check",
        "truecost plan",
    ),
    # 4.2 Evaluation of methods
    Rule(
        "one-seed",
        "4.2",
        "a difference of one or few seeds may be luck, even with the same seed for all: train "
        "each method with many seeds, and pool them",
        COMPARE,
        RUN,
    ),
    Rule(
        "fixed-training-list",
        "4.2",
        "what was trained on one training list holds for that list: say so in the claim and "
        "publish the list",
        RUN,
        RUN,
    ),
    Rule(
        "vary-training-data",
        "4.2",
        "methods differ in how they take mislabelled data and outliers: for a general claim "
        "train on bootstraps of the training data too",
        "",
        RUN,
    ),
    Rule(
        "split-changed",
        "4.2",
        "the split is not the file that its plan describes: what was trained on it cannot be "
        "repeated; split anew, and publish both files as they are",
        "truecost protocol check",
        "truecost protocol split",
    ),
)
