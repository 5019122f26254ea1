"""Pictures as data: `Picture`, `Axis` and `Mark`; one `Frame` that draws them; those that more than
one task draws. The pictures of one task stand in its folder.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.pictures.boards import gates as gates
    from truecost.pictures.boards import leaderboard as leaderboard
    from truecost.pictures.boards import runs as runs
    from truecost.pictures.boards import stacks as stacks
    from truecost.pictures.frame import Frame as Frame
    from truecost.pictures.picture import Axis as Axis
    from truecost.pictures.picture import Mark as Mark
    from truecost.pictures.picture import Picture as Picture
    from truecost.pictures.picture import span as span
    from truecost.pictures.rows import Rows as Rows
    from truecost.pictures.rows import differences as differences
    from truecost.pictures.rows import forest as forest
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
