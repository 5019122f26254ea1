"""Pictures on phones: a picture that has a namesake in the folder `narrow` is followed by that one.

The style sheet shows one of the two.
"""

from pathlib import Path
from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class Narrow(SphinxTransform):
    """Set the narrow picture beside the wide one."""

    default_priority: ClassVar = 400  # before Sphinx collects the files of pictures

    def apply(self) -> None:
        """Change every picture of a page."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for wide in list(self.document.findall(nodes.image)):
            path = Path(wide["uri"])
            small = path.parent / "narrow" / path.name
            if (folder / small).is_file():
                narrow = wide.copy()
                narrow["uri"] = small.as_posix()
                narrow["classes"] = ["on-narrow-screens"]
                wide["classes"] += ["on-wide-screens"]
                wide.parent.insert(wide.parent.index(wide) + 1, narrow)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(Narrow)
    return {"parallel_read_safe": True}
