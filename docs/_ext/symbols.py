"""Symbols in the formulas of measures, by the module of the measures."""

import re

_CLASSES = {
    r"P_k|P_c|P_j": ("P_k", "prior of class k"),
    r"R(?=\[)": ("R[k, d]", "share of the trials of class k that are decided d"),
    r"J(?=\[)": ("J[k, d]", "P_k R[k, d], share of the trials that have class k and are decided d"),
    r"c(?=\[)": ("c[k, d]", "cost of decision d for a trial of class k"),
    r"K": ("K", "number of classes"),
}
_DETECTION = {
    r"Cm|Cf": ("Cm, Cf", "cost of a miss and of a false alarm"),
    r"P": ("P", "prior of the target"),
    r"Ptar": ("Ptar", "effective prior of the target, Cm P / (Cm P + Cf (1 - P))"),
    r"Pmiss|Pfa": ("Pmiss, Pfa", "miss rate and false-alarm rate"),
    r"llr": ("llr", "natural-log likelihood ratio of a trial"),
    r"M?TWV": ("TWV", "term-weighted value; MTWV is its maximum over thresholds"),
}
_TRIALS = _CLASSES | _DETECTION
_TERMS = {
    r"Pmiss": ("Pmiss(q)", "share of the targets of query q that are missed"),
    r"Pfa": ("Pfa(q)", "share of the nontargets of query q that are accepted"),
    r"mean_q": ("mean_q", "mean over the queries that have targets"),
    r"beta": ("beta", "Cf (1-P) / (Cm P), with costs Cm (miss), Cf (false alarm) and prior P"),
    r"Nact": ("Nact(q)", "number of targets of query q"),
    r"ATWV|TWV": ("TWV", "term-weighted value, 1 - mean_q Pmiss(q) - beta mean_q Pfa(q)"),
    r"Ptar": ("Ptar", "effective prior of a target, Cm P / (Cm P + Cf (1-P))"),
    r"Clog": (
        "Clog",
        "ln(1 + exp(-x)) for a target, ln(1 + exp(x)) for a nontarget; x = llr + logit Ptar",
    ),
    r"llr": ("llr", "score, a natural-log likelihood ratio"),
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
        r"Ncorrect": ("Ncorrect", "number of speakers that are in both and assigned to each other"),
    },
    "abba.measures": {
        r"P(?=\()": ("A, B, L", "decision of each model (1: accepted), and label (1: target)"),
    },
    "streams.measures": {
        r"N": ("N", "number of items that are scored"),
        r"N_ann": ("N_ann", "number of annotations"),
        r"N_fp|N_fn": ("N_fp, N_fn", "number of false alarms and of misses"),
        r"N_target|N_nontarget": ("N_target, N_nontarget", "number of targets and of nontargets"),
        r"Cm|Cf": _DETECTION[r"Cm|Cf"],
        r"P": _DETECTION[r"P"],
        r"Pmiss|Pfa": _DETECTION[r"Pmiss|Pfa"],
    },
    "lifelong.measures": {
        r"M_i|M_k|M_1": ("M_i", "the scored version of the system; M_0 is the initial version"),
        r"t_j": ("t_j", "time j of the test set"),
        r"l_1|l_i|l_k": ("l_i", "time at which version i learnt"),
        r"P": ("P(t_j)", "weight of time t_j in the policy"),
        r"s(?=\()": ("s(M_i, t_j)", "score of version i on the test items of time t_j"),
        r"S_base": ("S_base", "score of the outputs before help"),
        r"S_adapt": ("S_adapt", "score of the final outputs after help"),
        r"S_imp": ("S_imp", "`impaired_score`"),
        r"S_cor": ("S_cor", "`corrected_score`"),
        r"S_pen": ("S_pen", "`penalised_score`"),
    },
}


def symbols_in(text: str, module: str) -> str:
    """The sentence that defines the symbols of a text; empty without symbols."""
    known = next((found for end, found in SYMBOLS.items() if module.endswith(end)), {})
    used = [said for mark, said in known.items() if re.search(rf"(?<![\w`])(?:{mark})(?!\w)", text)]
    return "Symbols: " + "; ".join(f"`{name}`: {what}" for name, what in used) + "." if used else ""
