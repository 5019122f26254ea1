"""Symbols in the formulas of measures, by the module of the measures."""

import re

from notation import is_formula

_PTAR = ("Ptar", "effective prior, `Cm P / (Cm P + Cf (1 - P))`")
_COSTS = ("Cm, Cf", "cost of a miss and of a false alarm")
_PRIOR = ("P", "prior of the target")
_CLASSES = {
    r"P_k|P_c|P_j": ("P_k", "prior of class k"),
    r"R(?=\[)": ("R[k, d]", "share of the trials of class k with decision d"),
    r"J(?=\[)": (
        "J[k, d]",
        "prior of class k, times the share of the trials of class k with decision d",
    ),
    r"c(?=\[)": ("c[k, d]", "cost of decision d for a trial of class k"),
    r"K": ("K", "number of classes"),
    r"mean_k": (
        "mean_k",
        "mean over the trials of class k",
    ),
    r"Q_k": ("Q_k", "share of decision k, `sum_j J[j, k]`"),
}
_DETECTION = {
    r"Cm|Cf|Ptar": _COSTS,
    r"P|Ptar": _PRIOR,
    r"Ptar": _PTAR,
    r"Pmiss|Pfa": ("Pmiss, Pfa", "miss rate and false-alarm rate"),
    r"llr": ("llr", "natural-log likelihood ratio of a trial"),
    r"mean_tar|mean_non": ("mean_tar, mean_non", "mean over targets, mean over nontargets"),
    r"TWV": ("TWV", "term-weighted value of keyword search"),
    r"MTWV": ("MTWV", "maximum term-weighted value of keyword search"),
}
_TRIALS = _CLASSES | _DETECTION
_TERMS = {
    r"Pmiss": ("Pmiss(q)", "share of the targets of query q that are missed"),
    r"Pfa": ("Pfa(q)", "share of the nontargets of query q that are accepted"),
    r"mean_q": ("mean_q", "mean over the queries that have targets"),
    r"beta|Ptar": _COSTS,
    r"(?:beta|Ptar)": _PRIOR,
    r"beta": ("beta", "`Cf (1 - P) / (Cm P)`"),
    r"Nact": ("Nact(q)", "number of targets of query q"),
    r"ATWV|TWV": (
        "TWV",
        "term-weighted value, `TWV(t)` with the decisions at the threshold t (see atwv)",
    ),
    r"Ptar": _PTAR,
    r"Clog": (
        "Clog",
        "`ln(1 + exp(-x))` for a target, `ln(1 + exp(x))` for a nontarget; `x = llr + logit(Ptar)`",
    ),
    r"llr": ("llr", "score, a natural-log likelihood ratio"),
    r"mean_tar|mean_non": ("mean_tar, mean_non", "mean over targets, mean over nontargets"),
}
SYMBOLS = {
    "trials.measures.decisions": _TRIALS,
    "trials.measures.losses": _TRIALS,
    "trials.measures.thresholds": _TRIALS,
    "trials.measures.beside": _TRIALS,
    "trials.measures.classes": _CLASSES,
    "trials.measures.spoofing": {r"Pmiss|Pfa": _DETECTION[r"Pmiss|Pfa"]},
    "terms.measures": _TERMS,
    "terms.entropy": _TERMS,
    "diarization.measures": {
        r"T": ("T", "duration of a stretch of time without a change of speakers"),
        r"Nref|Nsys": ("Nref, Nsys", "number of speakers of reference and output in this stretch"),
        r"Ncorrect": ("Ncorrect", "number of assigned pairs of speakers in which both speak"),
    },
    "abba.measures": {
        r"P(?=\()": (
            "A, B, L",
            "decisions of the models A and B (1: accepted), and label (1: target)",
        ),
    },
    "streams.measures": {
        r"N": ("N", "number of items that are scored"),
        r"N_ann": ("N_ann", "number of annotations"),
        r"N_fp|N_fn": ("N_fp, N_fn", "number of false alarms and of misses"),
        r"N_target|N_nontarget": ("N_target, N_nontarget", "number of targets and of nontargets"),
        r"Cm|Cf": _COSTS,
        r"P": _PRIOR,
        r"Pmiss|Pfa": _DETECTION[r"Pmiss|Pfa"],
    },
    "lifelong.measures": {
        r"M_i|M_k|M_1": ("M_i", "the scored version of the system; M_0 is the initial version"),
        r"t_j": ("t_j", "time j of the test set"),
        r"l_1|l_i|l_k": ("l_i", "time at which version i learned"),
        r"P": ("P(t_j)", "weight of time t_j in the user policy"),
        r"s(?=\()": ("s(M_i, t_j)", "score of version i on the items of time t_j"),
        r"S_base(?!\))": ("S_base", "score of the outputs before help"),
        r"S_adapt(?!\))|S_pen": ("S_adapt", "score of the final outputs after help"),
        r"S_imp(?!\))": (
            "S_imp",
            "score of the outputs before help, with the corrected parts made as wrong as possible",
        ),
        r"(?<!\()S_cor|S_pen": (
            "S_cor",
            "score of the outputs before help, with the corrected parts made right",
        ),
        r"S_pen": (
            "S_pen",
            "score after help with a penalty for the help, `S_adapt + (S_imp - S_cor)`",
        ),
    },
}


def symbols_in(text: str, module: str) -> list[tuple[str, str]]:
    """The symbols of a text, each with its definition."""
    known = next((found for end, found in SYMBOLS.items() if module.endswith(end)), {})
    text = re.sub(r"`([^`]+)`", lambda m: m[1] if is_formula(m[1]) else "", " ".join(text.split()))
    return [said for mark, said in known.items() if re.search(rf"(?<!\w)(?:{mark})(?!\w)", text)]
