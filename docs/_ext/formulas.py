r"""Formulas of measures, as mathematics that needs neither a network nor a script.

`{formula} NAME ...` shows the formula of one or more measures of the registry: its content is TeX,
a formula a paragraph; `:naive:` is what the naive baseline gets, in TeX too, where there is one.
Name, title, direction, range and source come from the measure itself; a name that several tasks
have is followed by the task. A measure without a formula is a warning, and so is a formula of no
measure.

All mathematics becomes MathML, which browsers draw by themselves; docutils converts it.
"""

import inspect
import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.utils.math import MathError, latex2mathml
from reference import better_of
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from truecost.core.measure import Measure
from truecost.report.citations import authors
from truecost.tasks.measures import registry

RANGE = re.compile(r"[Rr]ange ([\[(]\S+, .+?[\])])(?=[,;.: ])")


def mathml(tex: str, *, block: bool) -> str:
    """TeX as MathML; ValueError where it has a command that the converter does not know."""
    try:
        return str(latex2mathml.tex2mathml(tex.strip(), as_block=block))
    except MathError as error:
        raise ValueError(f"{tex!r} is no mathematics: {error}") from error


def range_of(measure: Measure) -> str:
    """The range that the docstring of a measure states; empty where it states none."""
    doc = " ".join((inspect.getdoc(measure.function) or "").split())
    found = RANGE.search(doc)
    return "" if found is None else found[1].replace("inf", "∞")


def anchor(key: str) -> str:
    """Where the formula of a measure stands on its page."""
    return f"formula-{re.sub('[_/]', '-', key)}"


class Formula(SphinxDirective):
    """The formula of one or more measures."""

    required_arguments, optional_arguments, final_argument_whitespace = 1, 0, True
    option_spec: ClassVar = {"naive": directives.unchanged_required}
    has_content = True

    def run(self) -> list[nodes.Node]:
        keys = self.arguments[0].split()
        if unknown := [key for key in keys if key not in registry()]:
            raise self.error(f"no measure is named {', '.join(unknown)}")
        shown = getattr(self.env, "truecost_formulas", set())
        if double := shown & set(keys):
            raise self.error(f"{', '.join(sorted(double))} has a formula already")
        self.env.truecost_formulas = shown | set(keys)
        listing = nodes.definition_list(classes=["formula"])
        for key in keys[:-1]:
            listing += nodes.definition_list_item("", *self.head(key))
        head = self.head(keys[-1])
        for tex in "\n".join(self.content).split("\n\n"):
            head[-1] += nodes.math_block("", tex, label=None, number=None, nowrap=False)
        listing += nodes.definition_list_item("", *head)
        return [listing]

    def head(self, key: str) -> list[nodes.Node]:
        """Name and title; direction, range, what the naive baseline gets, and the source."""
        measure = registry()[key]
        name = nodes.literal(text=measure.name)
        link = nodes.reference(
            "", "", name, refuri=f"api/measures.html#measure-{key.replace('_', '-')}"
        )
        several = sum(other.rpartition("/")[2] == measure.name for other in registry()) > 1
        title = f"  {measure.title}" + (f" ({measure.task})" if several and measure.task else "")
        term = nodes.term("", "", link, nodes.Text(title), ids=[anchor(key)])
        facts = [better] if (better := better_of(measure)) else []
        facts += [f"in {found}"] if (found := range_of(measure)) else []
        text = ", ".join(facts)
        said = nodes.paragraph("", text[:1].upper() + text[1:], classes=["facts"])
        if naive := self.options.get("naive"):
            said += [nodes.Text("; naive: " if text else "Naive: "), nodes.math("", naive)]
        source = authors(measure.source)
        origin = (
            source[:1].upper() + source[1:]
            if source.startswith("definition")
            else f"Source: {source}"
        )
        said += nodes.Text(f". {origin}" if len(said) else origin)
        return [term, nodes.definition("", said)]


def show_inline(self: Any, node: nodes.math) -> None:
    """Mathematics in a line."""
    self.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def show_block(self: Any, node: nodes.math_block) -> None:
    """Mathematics by itself; it scrolls where it is wider than the page."""
    self.body.append(f'<div class="math">{mathml(node.astext(), block=True)}</div>\n')
    raise nodes.SkipNode


def complain(app: Sphinx, env: Any) -> None:
    """Warn about measures that have no formula."""
    del app
    if missing := set(registry()) - getattr(env, "truecost_formulas", set()):
        logging.getLogger(__name__).warning(
            f"measures whose formula docs/formulas.md does not show: {', '.join(sorted(missing))}"
        )


def forget(app: Sphinx, env: Any, name: str) -> None:
    """A page that is read again shows its formulas again."""
    del app
    if name == "formulas":
        env.truecost_formulas = set()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and the way mathematics is shown."""
    app.add_directive("formula", Formula)
    app.add_html_math_renderer("mathml", (show_inline, None), (show_block, None))
    app.connect("env-check-consistency", complain)
    app.connect("env-purge-doc", forget)
    return {"parallel_read_safe": False}
