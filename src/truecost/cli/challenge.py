"""`leaderboard bundle`: the archive that an organiser uploads to Codabench."""

import sys
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from truecost.cli.options import Given, Quiet, Switch, keys_of, panel, parsed
from truecost.errors import message
from truecost.options import declared
from truecost.study.options import ChallengeTable


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class BundleOutput:
    """The file of the bundle."""

    output: Annotated[str, Parameter(name=["--output", "-o"])]
    """File to write (.zip)."""
    quiet: Quiet = False
    """Print nothing."""
    debug: Switch = False
    """Show tracebacks."""


@parsed(*declared(ChallengeTable))
def bundle(study: str, /, *, given: Given, output: BundleOutput) -> None:
    """Make the bundle of a challenge on Codabench from a study.

    The archive has the rules as pages, the key, and a scoring program that runs truecost score
    --codabench. Upload it under Benchmarks, Management, Upload.

    Example: truecost leaderboard bundle study.toml --key logistic.csv -o bundle.zip

    The files of this example: truecost demo trials --files-only

    Parameters
    ----------
    study
        TOML file with the rules and, optionally, [challenge]. See: truecost schema study
    """
    from truecost.study import Study
    from truecost.study.bundle import write_bundle

    place = write_bundle(Study.read(study), output.output, ChallengeTable(**keys_of(given)))
    if not output.quiet:
        print(message(f"bundle: {place}"), file=sys.stderr)
