"""Settings of the documentation: `python -m sphinx -W docs docs/_build/html`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from truecost import __version__

project = "truecost"
author = "The truecost developers"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "console",
    "narrow",
    "subscripts",
    "reference",
    "formulas",
]
exclude_patterns = ["_build", "_ext", "_static"]
smartquotes_action = "qe"  # quotes and ellipses, but `--` of an option stays
default_role = "code"  # single backticks in docstrings
nitpicky = False

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # types and shapes stand in the docstrings
numpydoc_show_class_members = False  # autodoc lists them

html_math_renderer = "mathml"  # of `formulas`: no network and no script
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["truecost.css"]
html_js_files = ["sidebar.js"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_title = f"truecost {version}"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"code-font-size": "0.78rem"},
}
