"""A sample of all cells of the coverage study (long); `scripts/coverage` runs the whole."""

import pytest

from covering import page
from covering.cells import KINDS, cells_of
from covering.running import block

pytestmark = pytest.mark.long
EVERY = {"rates": 12, "costs": 5, "differences": 4, "sequences": 3}  # of the kinds with many cells


@pytest.mark.parametrize("kind", KINDS)
def test_coverage(kind, record_property):
    """Of rows that do not warn of it, no cell lies far below, and few lie below at all."""
    lines = [block(one, 0) for one in cells_of(kind)[:: EVERY.get(kind, 1)]]
    counts = {
        f"{line['cell']}, {label}": count["auto"]
        for line in lines
        for label, count in line["measures"].items()
        if not page.warned(line, label)
    }
    shares = {key: page.coverage(count) for key, count in counts.items()}
    record_property("least", min(shares.values()))
    assert min(shares.values()) >= 0.85, shares
    low = [key for key, count in counts.items() if page.too_low(count)]
    assert len(low) <= max(1, 0.05 * len(counts)), low
