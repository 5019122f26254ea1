"""Write the simulated learning curve of the demo lifelong: errors of 400 items after help of
different cost, in eight runs.

    python examples/demos/curve.py src/truecost/data/demo/lifelong/curve.csv
"""

import math
import sys
from pathlib import Path

import numpy as np

rng = np.random.default_rng(3)
rows = ["cost,seed,errors,n"]
for seed in range(8):
    for cost in (0, 10, 20, 40, 80):
        wrong = rng.binomial(400, 0.05 + 0.3 * math.exp(-cost / 25))
        rows.append(f"{cost},{seed},{wrong},400")
Path(sys.argv[1]).write_text("\n".join(rows) + "\n", encoding="utf-8")
