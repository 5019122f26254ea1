"""Rules about the data: paper 003, section 2."""

from truecost.advice.rule import Rule

CHECK = "truecost protocol check"
SPLIT = "truecost protocol split"
SPURIOUS = "truecost protocol spurious"
LEDGER = "truecost protocol ledger"

RULES = (
    # 2.1 The evaluation data
    Rule(
        "data-like-deployment",
        "2.1, 2.6",
        "evaluation data unlike those of use foretell nothing: take the microphones, noises, "
        "durations, languages and speakers of use, as near to the training data as use will be",
    ),
    Rule(
        "prevalence-shift",
        "2.1",
        "the classes are not as frequent in the evaluation data as in use: score with the prior "
        "of use, or draw the evaluation data anew",
        CHECK,
        "--prior",
    ),
    Rule(
        "missing-classes",
        "2.1",
        "a class is missing on one side of the split: it is not learnt, or not measured; split "
        "anew, or collect it",
        CHECK,
        SPLIT,
    ),
    Rule(
        "missing-conditions",
        "2.1",
        "a condition is missing on one side of the split: how the system does in it is not "
        "learnt, or not measured; split by it too, or collect it",
        CHECK,
        f"{SPLIT} --conditions COLUMN",
    ),
    Rule(
        "unseen-conditions",
        "2.1",
        "who will meet new conditions must be tested in several that training did not have: hold "
        "out whole devices, rooms or languages, and report the spread",
        "",
        f"{SPLIT} --map group=CONDITION",
    ),
    Rule(
        "shared-groups",
        "2.1, 2.5",
        "a speaker, session or recording is on both sides of the split: the evaluation is "
        "optimistic; keep groups whole",
        CHECK,
        f"{SPLIT} --map group=COLUMN",
    ),
    Rule(
        "choices-on-evaluation-data",
        "2.1, 2.3, 2.5",
        "choices were made on the data that are reported: the result is optimistic; choose on "
        "development data, and score the evaluation data once, at the end",
        LEDGER,
        SPLIT,
    ),
    Rule(
        "best-of-many",
        "2.3, 2.5",
        "the best of many figures on one evaluation set is good by luck too: say of how many it "
        "is the best, or score it on data that had no part in the choice",
        LEDGER,
    ),
    Rule(
        "report-subsets",
        "2.1, 2.6",
        "one figure hides whom a system fails: report it by sex, age, accent, device and noise",
        "",
        "--subset",
    ),
    Rule(
        "second-evaluation-set",
        "2.1, 2.6",
        "one evaluation set tells of one collection: report another that does not match training, "
        "beside it",
        "",
        "[collections] of a study",
    ),
    # 2.2 The development data
    Rule(
        "dev-unlike-eval",
        "2.2",
        "the development set is made by other rules than the evaluation set: what is best on it "
        "is not what is best there; make both by the same rules",
        CHECK,
        SPLIT,
    ),
    # 2.3 When data is scarce
    Rule(
        "cross-validate-when-scarce",
        "2.3",
        "too few data for three sets: cross-validate with groups whole, and pool the scores of "
        "all folds",
        "",
        f"{SPLIT} --folds",
    ),
    Rule(
        "nested-for-choices",
        "2.3",
        "choices made on the folds that are reported are optimistic: choose on inner folds, "
        "report the outer ones, and say that the figure is of the method and not of one setting",
        "",
        f"{SPLIT} --folds K --inner K",
    ),
    # 2.4 Spurious correlations
    Rule(
        "spurious-correlation",
        "2.4",
        "the class can be told from what should not tell it (device, silence, duration): a system "
        "may have learnt that; collect anew, or compare with that predictor and test elsewhere",
        SPURIOUS,
        f"{SPURIOUS} --system NAME=FILE",
    ),
    Rule(
        "baseline-of-characteristics",
        "2.4",
        "where age, sex or accent go with the class, the baseline is a system that knows only "
        "them, not a naive one: a system must beat it",
        SPURIOUS,
        f"{SPURIOUS} --system NAME=FILE",
    ),
    Rule(
        "robust-features",
        "2.4",
        "removing noise is no proof that a correlation is gone, even when silence tells nothing "
        "any more: use features made to be robust to how it was recorded",
    ),
    Rule(
        "same-collection",
        "2.4, 2.5",
        "test data out of the collection that was trained on share its spurious correlations and "
        "cannot show them: test on another collection",
        "",
        "[collections] of a study",
    ),
    # 2.5 Common pitfalls
    Rule(
        "shared-sources",
        "2.5",
        "chunks or augmented copies of one recording are on both sides of the split: split the "
        "recordings first, then cut them, and augment the training set alone",
        CHECK,
        f"{SPLIT} --map source=COLUMN",
    ),
    Rule(
        "exact-copies",
        "2.5",
        "the same sample is on both sides of the split: the system has seen its answer; leave "
        "out the copies",
        CHECK,
    ),
    Rule(
        "near-copies",
        "2.5",
        "nearly the same sample is on both sides of the split: the evaluation is optimistic; keep "
        "copies on one side",
        CHECK,
    ),
    Rule(
        "no-groups-named",
        "2.5",
        "no column says which samples hang together, so a speaker or recording may be on both "
        "sides of the split unseen: name it",
        f"{SPLIT}; {CHECK}",
        "--map group=COLUMN",
    ),
)
