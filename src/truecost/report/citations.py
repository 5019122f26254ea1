"""What to cite: the papers that measures and intervals come from, as BibTeX."""

import re
from collections.abc import Sequence

from truecost.errors import UsageError
from truecost.version import __version__

PAPERS: dict[str, str] = {
    "000": """@misc{lindsey-unified-metric,
  author = {Lindsey, Mark and Kubala, Francis and Stern, Richard M.},
  title = {A Unified Metric for Simultaneous Evaluation of Error Rate and Annotation Cost},
}""",
    "001": """@inproceedings{petegrosso-2022-abba,
  author = {Petegrosso, Raphael and Baderdinni, Vasistakrishna and Senechal, Thibaud
    and Bullough, Benjamin L.},
  title = {{AB/BA} analysis: A framework for estimating keyword spotting recall improvement while
    maintaining audio privacy},
  booktitle = {Proceedings of {NAACL} 2022: Industry Track},
  pages = {27--36},
  year = {2022},
}""",
    "002": """@techreport{rodriguez-fuentes-2013-sws,
  author = {Rodriguez-Fuentes, Luis Javier and Penagarikano, Mikel},
  title = {{MediaEval} 2013 {Spoken Web Search} Task: System Performance Measures},
  institution = {University of the Basque Country UPV/EHU},
  year = {2013},
}""",
    "003": """@misc{ferrer-2024-good-practices,
  author = {Ferrer, Luciana and Scharenborg, Odette and B{\\"a}ckstr{\\"o}m, Tom},
  title = {Good practices for evaluation of machine learning systems},
  year = {2024},
  eprint = {2412.03700},
  archiveprefix = {arXiv},
}""",
    "004": """@inproceedings{prokopalo-2020-lifelong,
  author = {Prokopalo, Yevhenii and Meignier, Sylvain and Galibert, Olivier and
    Barrault, Lo{\\"i}c and Larcher, Anthony},
  title = {Evaluation of Lifelong Learning Systems},
  booktitle = {International Conference on Language Resources and Evaluation},
  address = {Marseille},
  year = {2020},
}""",
    "bca": """@article{efron-1987-bca,
  author = {Efron, Bradley},
  title = {Better Bootstrap Confidence Intervals},
  journal = {Journal of the American Statistical Association},
  volume = {82},
  number = {397},
  pages = {171--185},
  year = {1987},
}""",
    "pav": """@article{brummer-2006-cllr,
  author = {Br{\\"u}mmer, Niko and du Preez, Johan},
  title = {Application-independent evaluation of speaker detection},
  journal = {Computer Speech \\& Language},
  volume = {20},
  number = {2--3},
  pages = {230--275},
  year = {2006},
}""",
    "blocks": """@article{kuensch-1989-blocks,
  author = {K{\\"u}nsch, Hans R.},
  title = {The Jackknife and the Bootstrap for General Stationary Observations},
  journal = {The Annals of Statistics},
  volume = {17},
  number = {3},
  pages = {1217--1241},
  year = {1989},
}""",
    "spline": """@article{eilers-1996-p-splines,
  author = {Eilers, Paul H. C. and Marx, Brian D.},
  title = {Flexible smoothing with {B}-splines and penalties},
  journal = {Statistical Science},
  volume = {11},
  number = {2},
  pages = {89--121},
  year = {1996},
}""",
    "temperature": """@inproceedings{guo-2017-calibration,
  author = {Guo, Chuan and Pleiss, Geoff and Sun, Yu and Weinberger, Kilian Q.},
  title = {On Calibration of Modern Neural Networks},
  booktitle = {Proceedings of the 34th International Conference on Machine Learning},
  series = {Proceedings of Machine Learning Research},
  volume = {70},
  pages = {1321--1330},
  year = {2017},
}""",
    "mer": """@inproceedings{morris-2004-mer,
  author = {Morris, Andrew Cameron and Maier, Viktoria and Green, Phil},
  title = {From {WER} and {RIL} to {MER} and {WIL}: improved evaluation measures for connected
    speech recognition},
  booktitle = {Proceedings of Interspeech 2004},
  pages = {2765--2768},
  year = {2004},
}""",
    "jer": """@inproceedings{ryant-2019-dihard,
  author = {Ryant, Neville and Church, Kenneth and Cieri, Christopher and Cristia, Alejandrina
    and Du, Jun and Ganapathy, Sriram and Liberman, Mark},
  title = {The Second {DIHARD} Diarization Challenge: Dataset, Task, and Baselines},
  booktitle = {Proceedings of Interspeech 2019},
  pages = {978--982},
  year = {2019},
}""",
    "bleu": """@inproceedings{papineni-2002-bleu,
  author = {Papineni, Kishore and Roukos, Salim and Ward, Todd and Zhu, Wei-Jing},
  title = {{Bleu}: a Method for Automatic Evaluation of Machine Translation},
  booktitle = {Proceedings of the 40th Annual Meeting of the Association for Computational
    Linguistics},
  pages = {311--318},
  year = {2002},
}""",
    "sacrebleu": """@inproceedings{post-2018-sacrebleu,
  author = {Post, Matt},
  title = {A Call for Clarity in Reporting {BLEU} Scores},
  booktitle = {Proceedings of the Third Conference on Machine Translation: Research Papers},
  pages = {186--191},
  year = {2018},
}""",
    "chrf": """@inproceedings{popovic-2015-chrf,
  author = {Popovi{\\'c}, Maja},
  title = {{chrF}: character n-gram {F}-score for automatic {MT} evaluation},
  booktitle = {Proceedings of the Tenth Workshop on Statistical Machine Translation},
  pages = {392--395},
  year = {2015},
}""",
    "ter": """@inproceedings{snover-2006-ter,
  author = {Snover, Matthew and Dorr, Bonnie and Schwartz, Rich and Micciulla, Linnea and
    Makhoul, John},
  title = {A Study of Translation Edit Rate with Targeted Human Annotation},
  booktitle = {Proceedings of the 7th Conference of the Association for Machine Translation in the
    Americas},
  pages = {223--231},
  year = {2006},
}""",
    "forgetting": """@inproceedings{chaudhry-2018-forgetting,
  author = {Chaudhry, Arslan and Dokania, Puneet K. and Ajanthan, Thalaiyasingam and
    Torr, Philip H. S.},
  title = {{Riemannian} Walk for Incremental Learning: Understanding Forgetting and Intransigence},
  booktitle = {European Conference on Computer Vision ({ECCV})},
  year = {2018},
}""",
    "transfer": """@inproceedings{lopez-paz-2017-gem,
  author = {Lopez-Paz, David and Ranzato, Marc'Aurelio},
  title = {Gradient Episodic Memory for Continual Learning},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2017},
}""",
    "msr": """@inproceedings{geoffrois-2016-msr,
  author = {Geoffrois, Edouard},
  title = {Evaluating Interactive System Adaptation},
  booktitle = {International Conference on Language Resources and Evaluation},
  year = {2016},
}""",
    "ppi": """@article{angelopoulos-2023-prediction-powered,
  author = {Angelopoulos, Anastasios N. and Bates, Stephen and Fannjiang, Clara and
    Jordan, Michael I. and Zrnic, Tijana},
  title = {Prediction-powered inference},
  journal = {Science},
  volume = {382},
  number = {6671},
  pages = {669--674},
  year = {2023},
  doi = {10.1126/science.adi6000},
}""",
    "ayer": """@article{ayer-1955-pav,
  author = {Ayer, Miriam and Brunk, H. D. and Ewing, G. M. and Reid, W. T. and Silverman, Edward},
  title = {An Empirical Distribution Function for Sampling with Incomplete Information},
  journal = {The Annals of Mathematical Statistics},
  volume = {26},
  number = {4},
  pages = {641--647},
  year = {1955},
}""",
}
INTERVALS = "003"  # section 4: bootstrap intervals by unit
MARKS = {  # what a signature says of intervals, and what is cited for it
    "|bca:": ("bca",),
    ":blocks": ("blocks",),
    ":corrected|": ("ppi",),
}


AUTHORS = {  # as a sentence names them
    "000": "Lindsey et al.",
    "001": "Petegrosso et al. 2022",
    "002": "Rodriguez-Fuentes & Penagarikano 2013",
    "003": "Ferrer et al. 2024",
    "004": "Prokopalo et al. 2020",
}


def authors(source: str) -> str:
    """The source of a measure with authors and year in place of the number of a paper.

    Parameters
    ----------
    source : str
        As `Measure.source`: `paper 002, Eq. 1`.

    Examples
    --------
    >>> from truecost.report.citations import authors
    >>> authors("paper 002, Eq. 1")
    'Rodriguez-Fuentes & Penagarikano 2013, Eq. 1'
    """
    return re.sub(r"\bpaper (\d{3})\b", lambda m: AUTHORS.get(m[1], m[0]), source)


def bibtex(measures: Sequence[str] = (), signatures: Sequence[str] = ()) -> str:
    """The entries of what is cited for some measures, and truecost itself.

    Parameters
    ----------
    measures : sequence of str
        Names, with or without a parameter; all papers when there are none.
    signatures : sequence of str
        Signatures of rows: their intervals and calibrations are cited too.

    Returns
    -------
    str
        BibTeX, entries separated by an empty line.

    Raises
    ------
    UsageError
        When a measure is not known.

    Examples
    --------
    >>> from truecost.report.citations import bibtex
    >>> print(bibtex(["act_dcf"]).split(",")[0])
    @software{truecost
    """
    keys = [*PAPERS] if not measures else _keys(measures, " ".join(signatures))
    return "\n\n".join([_own(), *(PAPERS.get(key, key) for key in keys)]) + "\n"


def _own() -> str:
    return (
        "@software{truecost,\n"
        "  author = {{The truecost developers}},\n"
        "  title = {truecost: what a detection or classification system really costs},\n"
        f"  version = {{{__version__}}},\n"
        "}"
    )


def _keys(measures: Sequence[str], signatures: str) -> list[str]:
    """Keys of `PAPERS` in their order."""
    from truecost.calibration import METHODS
    from truecost.tasks.measures import find_of_any_task

    marks = MARKS | {f"|calibrated:{name}:": kind.cites for name, kind in METHODS.items()}
    cited = {INTERVALS}
    for name in measures:
        measure = find_of_any_task(name)
        cited |= set(measure.cites or re.findall(r"\bpaper (\d{3})\b", measure.source))
    cited |= {key for mark, keys in marks.items() if mark in signatures for key in keys}
    own = {text for text in cited if text.startswith("@")}  # of tasks of other distributions
    unknown = cited - set(PAPERS) - own
    if unknown:
        raise UsageError(f"no source is known under {', '.join(sorted(unknown))}")
    return [*(key for key in PAPERS if key in cited), *sorted(own)]
