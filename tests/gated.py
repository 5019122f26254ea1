"""Rows of a result that is not computed, for tests of gates."""

import msgspec

from truecost.core.results import Row
from truecost.gates import check, parse_gate
from truecost.study import ResultFile


def row(value=0.3, lower=0.2, upper=0.4, measure="act_dcf", **changes):
    """A row of 100 speakers."""
    dims = {"system": changes.pop("system", "A")}
    dims |= {d: changes.pop(d) for d in ("subset", "application", "collection") if d in changes}
    variant = changes.pop("variant", None)
    fields = {
        "level": 0.95,
        "method": "auto",
        "naive": 1.0,
        "direction": "lower",
        "factors": ("speaker",),
        "n_units": 100,
        "n_trials": 1000,
        "n_replicates": 2000,
        "n_undefined": 0,
        "flags": (),
        "signature": f"{measure}|seed:0",
        "parameters": {} if variant is None else {"variant": variant},
        "dims": dims | changes.pop("dims", {}),
    }
    return Row(measure=measure, value=value, lower=lower, upper=upper, **(fields | changes))


ROWS = (
    row(),
    row(0.5, 0.45, 0.6, subset="noise=babble"),
    row(0.8, 0.7, 0.9, subset="snr < 5, noise=music"),
    row(0.9, 0.85, 0.95, measure="auc", direction="higher"),
    row(0.2, 0.15, 0.25, system="B"),
    row(0.25, 0.2, 0.3, system="B", subset="noise=babble"),
    row(0.9, 0.85, 0.95, measure="auc", direction="higher", system="B"),
    row(-0.1, -0.15, -0.05, system="B", kind="difference", baseline="A"),
    row(0.0, -0.02, 0.02, "auc", system="B", kind="difference", baseline="A", direction="higher"),
    row(0.66, 0.6, 0.8, system="B", kind="ratio", baseline="A"),
)


def stored(rows, path):
    """`result.json` in a folder."""
    path.mkdir(exist_ok=True)
    content = ResultFile(schema_version=2, truecost="0", rows=tuple(rows), problems=(), inputs=())
    (path / "result.json").write_bytes(msgspec.json.encode(content))
    return path


def verdicts_of(*gates):
    """Verdicts of gates, written as text, on ROWS."""
    return check([parse_gate(g) for g in gates], ROWS)


def verdicts(gate, rows=ROWS):
    """The verdicts of one gate."""
    return [v.verdict for v in check([parse_gate(gate)], rows)]
