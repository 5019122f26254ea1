"""Three directives that write the reference from the package itself.

`{public-names} MODULE` documents every name of `truecost.__all__` that lives in the module,
`{public-names} MODULE NAME` one of them; a name that no page documents is a warning.
`{public-index}` lists all these names, with links. `{measures}` lists every measure of the
registry.
"""

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

from docutils import nodes
from notation import is_formula, tex
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from symbols import symbols_in

import truecost
from truecost.core.measure import Measure
from truecost.lazy import PLACES
from truecost.report.citations import authors
from truecost.tasks.measures import registry

HIDDEN = {"__version__"}
SOURCE = re.compile(  # a sentence with the works that define a measure
    r"[A-Z][\w-]+(?:,? (?:and|&) (?:du )?[A-Z][\w-]+| et al\.)?,? \(?\d{4}\b|"
    r"Lindsey et al\.|NIST, KWSEval|Morris, Maier"
)
FACT = re.compile(  # where a line of facts begins
    r"(?:^|(?<=\. ))(?=Range |Naive baseline|No naive |Undefined |Infinite |Equal to |"
    r"Lower is better|Higher is better|" + SOURCE.pattern + ")"
)
SYMBOL = re.compile(
    r"(?<![\w-])([A-Z]_(?:[A-Za-z0-9]+|\([^)]*\))|[a-z]_[a-z0-9](?!\w)|[CP](?:m|f|s|t|n|miss|fa|spoof|tar|log))(?![\w(])"
)
INTERNAL = {  # members that only other modules of the package use
    "Evidence": "cells, prepare",
    "Tally": "stood",
    "Ranking": "by_unit, counting_pays, cut, edges, has_wins, histogram, histogram_of, knots, "
    "once, wins, wins_pay",
}


def home_of(name: str) -> str:
    """The module in which a public name is made."""
    value = getattr(truecost, name)
    if inspect.ismodule(value):
        return value.__name__
    return getattr(value, "__module__", None) or PLACES["truecost"][name][0]


def entry_of(name: str) -> str:
    """The autodoc directives for a public name; for a module those of its own public names."""
    value = getattr(truecost, name)
    if inspect.ismodule(value):
        return "\n".join(entry_in(value, n) for n in value.__all__)
    return entry_in(truecost, name)


def entry_in(module: ModuleType, name: str) -> str:
    """The autodoc directive for a public name of a module."""
    value = getattr(module, name)
    if callable(value):
        return directive(f"{module.__name__}.{name}", value)
    # Data have no docstring of their own: autodoc reads it where the name is defined.
    return f".. autodata:: {PLACES[module.__name__][name][0]}.{name}\n   :no-value:\n"


def public() -> list[object]:
    """The public values of the package."""
    return [getattr(truecost, name) for name in truecost.__all__]


def directive(place: str, value: object) -> str:
    """The autodoc directive for a class or a function."""
    if not inspect.isclass(value):
        return f".. autofunction:: {place}\n"
    # Bases that no page explains say nothing to a reader.
    explained = issubclass(value, Exception) or all(b in public() for b in value.__bases__)
    bases = "   :show-inheritance:\n" if explained else ""
    left = INTERNAL.get(value.__name__)
    bases += f"   :exclude-members: {left}\n" if left else ""
    return f".. autoclass:: {place}\n   :members:\n{bases}"


class PublicNames(SphinxDirective):
    """The public names of one module."""

    required_arguments, optional_arguments = 1, 1

    def run(self) -> list[nodes.Node]:
        module, *only = self.arguments
        names = [n for n in only or truecost.__all__ if n not in HIDDEN and home_of(n) == module]
        if not names:
            raise self.error(f"no public name of truecost is made in {module}")
        documented = getattr(self.env, "truecost_documented", set())
        self.env.truecost_documented = documented | set(names)
        text = "\n".join(entry_of(name) for name in names)
        return self.parse_text_to_nodes(f"```{{eval-rst}}\n{text}\n```")


class PublicIndex(SphinxDirective):
    """All public names in alphabetical order: a link to each, and the first line about it."""

    def run(self) -> list[nodes.Node]:
        names = sorted(set(truecost.__all__) - HIDDEN, key=str.lower)
        text = "\n".join(f"* {line_of(name)}" for name in names)
        return self.parse_text_to_nodes(f"```{{eval-rst}}\n{text}\n```")


def line_of(name: str) -> str:
    """A link to a public name, and the first line of its docstring."""
    value = getattr(truecost, name)
    if inspect.ismodule(value):
        page = {"learning": "streams"}.get(name, name)
        return f"``{name}``: a module, see :doc:`/api/{page}`"
    documented = callable(value)
    place = f"truecost.{name}" if documented else f"{PLACES['truecost'][name][0]}.{name}"
    about = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    if not documented:
        notes = ModuleAnalyzer.for_module(PLACES["truecost"][name][0]).find_attr_docs()
        about = " ".join(notes.get(("", name), [])).partition(". ")[0].rstrip(".") + "."
    return f":py:obj:`{name} <{place}>`" + (f": {about}" if about else "")


class Measures(SphinxDirective):
    """Every measure of the registry, by module: name, title, direction, formula, source."""

    def run(self) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        modules: dict[str, list[str]] = {}
        for name, measure in registry().items():
            modules.setdefault(measure.function.__module__, []).append(name)
        for own in Path(__file__).parent.glob("*.py"):  # a changed file is a reason to read again
            self.env.note_dependency(str(own))
        for module, names in modules.items():
            self.env.note_dependency(inspect.getfile(importlib.import_module(module)))
            intro = inspect.getdoc(importlib.import_module(module)) or module
            summary = intro.split("\n\n")[0].replace("\n", " ")
            section = nodes.section(ids=[module.replace(".", "-")])
            section += nodes.title("", "", *words(summary.split(":")[0].rstrip(".")))
            listing = nodes.definition_list(classes=["measures"])
            alike: dict[str, list[str]] = {}  # a measure that several tasks have is one item
            for name in names:
                alike.setdefault(registry()[name].name, []).append(name)
                self.name_anchor(anchor_of(name), registry()[name].title)
            listing += [item(keys) for keys in alike.values()]
            section += listing
            found.append(section)
        return found

    def name_anchor(self, anchor: str, title: str) -> None:
        """Let pages link to it: api/measures.md#measure-NAME."""
        domain = self.env.domains.standard_domain
        domain.anonlabels[anchor] = self.env.docname, anchor
        domain.labels[anchor] = self.env.docname, anchor, title


def anchor_of(name: str) -> str:
    """The anchor of a measure on its page."""
    return f"measure-{name.replace('_', '-')}"


def item(names: list[str]) -> nodes.Node:
    """One measure, of one task or several: name, title and direction, then text and advice."""
    found = [registry()[name] for name in names]
    measure = found[0]
    text = inspect.getdoc(measure.function) or ""
    better = better_of(measure)
    said = f"  {measure.title}" + (f" ({better})" if better else "")
    head = nodes.literal(text=measure.label.rstrip(":")), nodes.Text(said)
    term = nodes.term("", "", *head, ids=[anchor_of(name) for name in names])
    notes = []
    cited = dict.fromkeys(authors(m.source) for m in found if re.search("[0-9]", m.source))
    if cited and not any(source.split(" ")[0].strip(",;") in text for source in cited):
        notes.append(f"Source: {'; '.join(cited)}.")
    if tasks := [f"`{m.task}`" for m in found if m.task]:
        notes.append(f"Task{'s' * (len(tasks) > 1)}: {', '.join(tasks)}.")
    if measure.detection:
        notes.append("This measure needs a target class.")
    if measure.parameter:
        if measure.task and measure.open:
            notes.append("The parameter is the measure that scores the outputs.")
        notes.append(f"Default of the parameter: `{measure.parameter}`.")
    if measure.advice:
        notes.append(advised(measure.advice) + ".")
    body = nodes.definition()
    body += explained(text, measure.function.__module__, notes)
    return nodes.definition_list_item("", term, body)


def better_of(measure: Measure) -> str:
    """Which direction is better; empty if the direction is for tables and gates only."""
    if measure.follows:
        return f"better direction: that of the {'score' if measure.task else 'column'}"
    better = f"{measure.direction} is better"
    text = " ".join((inspect.getdoc(measure.function) or "").split())
    return better if better in text.lower() else ""


def advised(advice: str) -> str:
    """The advice of a measure, whose name stands before it elsewhere, with a subject."""
    if not advice.startswith("it "):  # where "it" could also be the threshold
        advice = re.sub(r"(?<=: )it (?=shows)|(?<=so )it |(?<=and )it ", "the measure ", advice)
        advice = advice.replace("read it ", "read the measure ")

    if found := re.match(r"its ((?:chance )?\w+) (.*)", advice):
        return f"The {found[1]} of this measure {found[2]}"
    verb = re.match(r"(?:it )?(?!speakers)(\w+s\b.*)", advice)
    return f"This measure {verb[1]}" if verb else advice[0].upper() + advice[1:]


def explained(text: str, module: str, notes: list[str]) -> list[nodes.Node]:
    """The docstring of a measure: its formula, the symbols, and a line for each fact."""
    first, _, rest = (p.replace("\n", " ") for p in text.partition("\n\n"))
    whole = f"{first} {rest}"
    found = FACT.search(whole)
    place = len(whole) if found is None else found.start()
    body = [*shown(first[:place].strip()), *shown(whole[len(first) + 1 : place].strip())]
    after = max((k for k, n in enumerate(body) if isinstance(n, nodes.math_block)), default=0)
    if symbols := symbols_in(text, module):
        body.insert(after + 1, defined(symbols))
    facts = re.split(r"(?<=\.) (?=[A-Z])", whole[place:].strip()) if found else []
    facts = [f"Source: {fact}" if SOURCE.match(fact) else fact for fact in facts]
    if notes and facts and all(said.startswith("Source: ") for said in (facts[-1], notes[0])):
        facts[-1] = f"{facts[-1].rstrip('.')}; {notes.pop(0).removeprefix('Source: ')}"
    lines = [nodes.line("", "", *words(fact)) for fact in (*facts, *notes)]
    return [*body, nodes.line_block("", *lines)] if lines else body


def defined(symbols: list[tuple[str, str]]) -> nodes.Node:
    """A paragraph with the symbols of a formula and their meanings."""
    found: list[nodes.Node] = [nodes.Text("Symbols: ")]
    for place, (name, what) in enumerate(symbols):
        end = "." if place == len(symbols) - 1 else "; "
        found += [nodes.math("", tex(name)), *words(f": {what}{end}")]
    return nodes.paragraph("", "", *found)


def shown(text: str) -> list[nodes.Node]:
    """Paragraphs of a text; a formula that ends a sentence has a line of its own."""
    found: list[nodes.Node] = []
    line: list[nodes.Node] = []
    parts = re.split(r"`+([^`]+)`+", text)
    for place, part in enumerate(parts):
        before, after = parts[max(0, place - 1)].rstrip(), parts[min(len(parts) - 1, place + 1)]
        ends = not before or before[-1] in ".:", not after or after[0] in ".;,"
        if place % 2 and is_formula(part) and all(ends):
            found += [nodes.paragraph("", "", *line)] if line else []
            found.append(nodes.math_block("", tex(part), label=None, number=None, nowrap=False))
            line = []
        elif part := part if line or place % 2 else part.lstrip(".;, "):
            line += words(f"`{part}`") if place % 2 else plain(part)
    return [*found, nodes.paragraph("", "", *line)] if line else found


def words(text: str) -> list[nodes.Node]:
    """Text with `code` and formulas in single backticks; symbols of formulas need none."""
    parts = re.split(r"`+([^`]+)`+", text)
    return [n for k, p in enumerate(parts) if p for n in ([marked(p)] if k % 2 else plain(p))]


def plain(text: str) -> list[nodes.Node]:
    """Text with its symbols, such as P_k, as mathematics."""
    parts = SYMBOL.split(re.sub(r"\binf(?=[])])|(?<=-)inf\b", "∞", text))
    return [nodes.math("", tex(p)) if k % 2 else nodes.Text(p) for k, p in enumerate(parts) if p]


def marked(text: str) -> nodes.Node:
    """A formula, or code."""
    return nodes.math("", tex(text)) if is_formula(text) else nodes.literal(text=text)


def complain(app: Sphinx, env: object) -> None:
    """Warn about public names that no page documents."""
    del app
    missing = set(truecost.__all__) - HIDDEN - getattr(env, "truecost_documented", set())
    if missing:
        homes = ", ".join(sorted(f"{name} ({home_of(name)})" for name in missing))
        logging.getLogger(__name__).warning(
            f"public names that no page of docs/api shows: {homes}; "
            f"add a section with {{public-names}} MODULE"
        )


def escape_stars(*event: object) -> None:
    """Keep the star of shapes such as (*cells, statistics) from being read as emphasis."""
    lines = event[-1]
    lines[:] = [re.sub(r"(?<=[( ])\*(?=\w+[,)])", r"\\*", line) for line in lines]


def shorten(*event: object) -> "tuple[object, object] | None":
    """Show a default that is an object as `Class()`, and one that is made anew as `...`."""
    signature, returned = event[-2:]
    if not isinstance(signature, str):
        return None
    found = signature.replace("<factory>", "...")
    while (short := re.sub(r"(=[A-Z]\w*)\((?!\))(?:[^()]|\(\))*\)", r"\1()", found)) != found:
        found = short
    return found, returned


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("public-names", PublicNames)
    app.add_directive("public-index", PublicIndex)
    app.add_directive("measures", Measures)
    app.connect("autodoc-process-docstring", escape_stars)
    app.connect("autodoc-process-signature", shorten)
    app.connect("env-check-consistency", complain)
    return {"parallel_read_safe": False}
