"""Whether a split is still the file that was written, by the plan that lies beside it."""

from pathlib import Path

from truecost.errors import InputError
from truecost.protocol.findings import Finding
from truecost.protocol.writing import plan_path


def changed(path: str) -> tuple[Finding | None, str]:
    """Whether a file is still the split that was written, by the plan that lies beside it.

    Parameters
    ----------
    path : str
        The split; its plan is PATH.json.

    Returns
    -------
    Finding or None
        A warning when its hash is another one.
    str
        What the plan says: its signature, or empty where there is no plan.

    Raises
    ------
    InputError
        When the plan cannot be read.
    """
    import msgspec

    from truecost.formats import sha256

    beside = Path(plan_path(path))
    if not beside.is_file() or not Path(path).is_file():
        return None, ""
    try:
        plan = msgspec.json.decode(beside.read_bytes())
        wanted, signature = plan["output"]["sha256"], str(plan["signature"])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise InputError(
            f"{beside}: is not the plan of a split ({type(error).__name__}: {error}); move it "
            f"away, or write the split again"
        ) from error
    if wanted == sha256(path):
        return None, signature
    message = (
        f"{path} is not the file that truecost protocol split wrote: its hash is not the one in "
        f"{beside.name}; split again with the plan there, or remove it and say who made the split"
    )
    return Finding("split-changed", "warning", message), signature
