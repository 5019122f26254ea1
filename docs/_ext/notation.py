r"""Plain formulas of docstrings, such as `sum_k P_k (1 - R[k, k]) / (1 - max_k P_k)`, as TeX.

A docstring has a formula in backticks, as code has: text with a space or a bracket is a formula.
`A / B` is a fraction, a space is a product, and `f(x)` without a space an application; other words
stay words.
"""

import re

TOKEN = re.compile(
    r"(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z][A-Za-z0-9]*(?:_(?:\([^)]*\)|\{[^}]*\}|\w+))?)"
    r"|(?P<index>\[\w+, \w+\])|(?P<mark><=|>=|[-+*/^=|,;:(){}\[\]])"
)
FORMULA = re.compile(r"(?!--)(?!.*:\d)(?=.*[ (\[])(?!.*=[A-Z])(?!\w+\[\")")
GREEK = {"beta": r"\beta", "gamma": r"\gamma", "delta": r"\delta", "inf": r"\infty"}
FUNCTIONS = {"min": r"\min", "max": r"\max", "exp": r"\exp", "ln": r"\ln", "log2": r"\log_2"}
FUNCTIONS |= {"sum": r"\sum", "mean": r"\operatorname{mean}", "logit": r"\operatorname{logit}"}
RELATIONS = {"<=": r"\le", ">=": r"\ge", "|": r"\mid"}
STEMS = re.compile(
    r"([CNP])(m|f|s|t|n|miss|fa|spoof|tar|ref|sys|correct|act|log|[0-9])((?:_\w+)?)$"
)


def is_formula(text: str) -> bool:
    """Whether text in backticks is a formula; otherwise it is code."""
    return FORMULA.match(text) is not None


def tex(plain: str) -> str:
    """A formula as TeX; ValueError if it has a sign that no formula has."""
    return Reader(plain).whole()


class Reader:
    """A recursive descent over the tokens of a formula."""

    def __init__(self, plain: str) -> None:
        self.tokens: list[tuple[str, str, bool]] = []  # kind, text, whether a space stands before
        place = 0
        while place < len(plain):
            spaced = plain[place] == " "
            place += spaced
            found = TOKEN.match(plain, place)
            if found is None or found.lastgroup is None:
                raise ValueError(f"formula {plain!r}: no token begins at {plain[place:]!r}")
            self.tokens.append((found.lastgroup, found[0], spaced))
            place = found.end()
        self.tokens.append(("end", "", False))
        self.place = 0

    @property
    def next(self) -> str:
        return self.tokens[self.place][1]

    def take(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1][1]

    def whole(self) -> str:
        """All tokens; marks that open or close nothing stay as they are."""
        found = [self.list()]
        while self.tokens[self.place][0] != "end":
            found += [self.take(), self.list()]
        return " ".join(filter(None, found))

    def list(self) -> str:
        """Relations between sums, separated by commas."""
        found = [self.total()]
        while self.next in {"=", "<=", ">=", "|", ",", ";", ":"}:
            mark = self.take()
            found += [RELATIONS.get(mark, mark + r"\;" * (mark in ",;")), self.total()]
        return " ".join(filter(None, found))

    def total(self) -> str:
        """Terms with + and - between them."""
        found = [self.take()] if self.next == "-" else []
        found.append(self.term())
        while self.next in {"+", "-"}:
            found += [self.take(), self.term()]
        return " ".join(filter(None, found))

    def term(self) -> str:
        """A product, or a fraction of two."""
        found = self.product()
        while self.next == "/":
            self.take()
            found = rf"\frac{{{bare(found)}}}{{{bare(self.product())}}}"
        return found

    def product(self) -> str:
        """Factors side by side; words that follow each other are one text."""
        found: list[str] = []
        words: list[str] = []
        while self.tokens[self.place][0] in {"number", "name"} or self.next in {"(", "{", "*", "["}:
            if self.tokens[self.place][0] == "name" and is_word(self.next):
                words.append(self.take())
                while self.next == "-" and not self.tokens[self.place][2]:
                    words[-1] += self.take() + self.take()
                continue
            if words:
                found.append(texted(words))
                words = []
            found.append(r"\cdot" * bool(self.take()) if self.next == "*" else self.power())
        if words:
            found.append(texted(words))
        return r" \, ".join(found)

    def power(self) -> str:
        """A factor, perhaps with an exponent."""
        found = self.atom()
        if self.next == "^":
            self.take()
            found += f"^{{{bare(self.atom())}}}"
        return found

    def atom(self) -> str:
        """A number, a symbol with its index or arguments, or a group."""
        kind, text, _ = self.tokens[self.place]
        if text in {"(", "{", "["}:
            return self.group()
        self.take()
        if kind == "number":
            return text
        if text in {"abs", "sqrt"} and self.next == "(":
            inner = bare(self.group())
            return rf"\sqrt{{{inner}}}" if text == "sqrt" else rf"\left| {inner} \right|"
        found = symbol(text)
        if self.tokens[self.place][0] == "index":
            found += index(self.take())
        if self.next == "(" and not self.tokens[self.place][2]:
            found += self.group()
        return found

    def group(self) -> str:
        """What stands in brackets, with them."""
        closing = {"(": ")", "{": "}", "[": "]"}
        opened = self.take()
        inner = self.list()
        if self.next == closing[opened]:
            self.take()
        left, right = (r"\{", r"\}") if opened == "{" else (opened, closing[opened])
        return rf"{left} {inner} {right}"


def is_word(name: str) -> bool:
    """Whether a name is a word of English: no symbol and no function."""
    known = (GREEK.keys() | FUNCTIONS.keys() | {"abs", "sqrt", "llr"}) - {"mean"}
    return re.fullmatch(r"[A-Za-z]?[a-z]{2,}|or|of|a", name) is not None and not (
        name in known or STEMS.match(name)
    )


def texted(words: "list[str]") -> str:
    """Words as text."""
    return rf"\text{{{' '.join(words)}}}"


def symbol(name: str) -> str:
    """A symbol, a function, or an abbreviation, with its index."""
    if stem := STEMS.match(name):
        low, more = stem[2], stem[3].lstrip("_")
        found = f"{stem[1]}_{{{low if len(low) == 1 else roman(low)}}}"
        return f"{found}^{{{roman(more)}}}" if more else found
    base, _, low = name.partition("_")
    if numbered := re.fullmatch(r"([a-z])(\d)", base):
        return f"{numbered[1]}_{numbered[2]}"
    known = GREEK.get(base) or FUNCTIONS.get(base) or (base if len(base) == 1 else roman(base))
    return f"{known}_{{{lower(low.strip('(){}'))}}}" if low else known


def lower(low: str) -> str:
    """An index: letters of their own, or a word."""
    if " in " in low:
        return low.replace(" in ", r" \in ")
    letters = re.fullmatch(r"[A-Z]|[a-z0-9]|bk|[a-z0-9],\w|\w[-+]\d(,\w)?", low)
    return low if letters else roman(low)


def index(brackets: str) -> str:
    """[k, d] as the index kd; words stay words."""
    names = brackets[1:-1].split(", ")
    if any(len(name) > 1 for name in names):
        return "_{" + r",\,".join(n if len(n) == 1 else roman(n) for n in names) + "}"
    return f"_{{{''.join(names)}}}"


def roman(text: str) -> str:
    """Upright letters."""
    return rf"\text{{{text}}}"


def bare(found: str) -> str:
    """A group without its brackets."""
    if not (found.startswith("( ") and found.endswith(" )")):
        return found
    depth = 0
    for place, sign in enumerate(found):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and place < len(found) - 1:
            return found
    return found[2:-2]
