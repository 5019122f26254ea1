"""Where results go, and what else there is to say: options that every command has."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

Flag = Parameter(negative=())


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Output:
    """Where the result goes, and what else there is to say."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """Directory for result.json, report.html and, of curves or items, a table of these."""
    json: Annotated[bool, Flag] = False
    """Print the result as JSON."""
    config: str | None = None
    """A study file whose settings hold where the command line gives none."""
    print_config: Annotated[bool, Flag] = False
    """Print the study that the options make (TOML) and do nothing else."""
    cite: Annotated[bool, Flag] = False
    """Print BibTeX of what the chosen measures come from and do nothing else."""
    advice: bool = True
    """Print advice on standard error."""
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False
    """Print nothing but the result."""
    verbose: Annotated[bool, Parameter(name=["--verbose", "-v"], negative=())] = False
    """Say what was read and which way was taken."""
    color: bool = True
    """Colour on terminals (NO_COLOR is honoured too)."""
    debug: Annotated[bool, Flag] = False
    """Show tracebacks."""


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Kept(Output):
    """The same where systems are scored, which a ledger counts."""

    ledger: str | None = None
    """File that counts how often this evaluation set was scored; run keeps ledger.jsonl."""
    no_ledger: Annotated[bool, Flag] = False
    """Keep no ledger."""


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Checked(Output):
    """The same for checks, which write no directory: the option is refused, and not offered."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"], show=False)] = None
    cite: Annotated[bool, Parameter(negative=(), show=False)] = False


PLAIN, CHECKED, KEPT = Output(), Checked(), Kept()
