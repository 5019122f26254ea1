"""`truecost abba thresholds`: choose a threshold of the candidate."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from truecost.cli import made
from truecost.face import Face
from truecost.options import Declared
from truecost.tasks import find
from truecost.verbs import options_of, study_of

ABOUT = "Choose a threshold of B at or above the deployed one; every replicate chooses anew."


def __getattr__(name: str) -> Callable[..., Any]:
    """The command, made when it is asked for."""
    if name != "thresholds":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    face = find("abba")
    others = {k: v for k, v in made.others_of(face, "score").items() if k != "measure"}
    options = options_of(face, "thresholds")
    return made.command(face, "thresholds", options, others, _thresholds, ABOUT)


def _thresholds(
    face: Face,
    name: str,
    files: Sequence[str],
    references: Sequence[str],
    given: Mapping[Declared, Any],
    others: Mapping[str, Any],
) -> int:
    from truecost.cli.trials import execute
    from truecost.study.naming import name_systems

    del name, references
    output = others["output"]
    study = study_of(
        face,
        dict(name_systems(files)),
        given,
        subsets=others["subset"],
        config=output.config,
        own={"thresholds": True},
    )
    return execute(study, output)
