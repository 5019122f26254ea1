"""Attack every command: scripts/attack [--minutes 2 | --inputs N] [--seed 1] [--kills SHARE]
[--only PART].
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from attacking.mutations import misspelt, mutated
from attacking.running import Attack
from attacking.scenes import ROOT, scenes


def main() -> int:
    """Attack until the time is over; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="scripts/attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--inputs", type=int, help="so many, whatever time they take")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=float, default=0.01, help="share of runs that are killed")
    parser.add_argument("--only", default="", help="scenes whose name holds this")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    given = parser.parse_args()
    rng, counts = random.Random(given.seed), Counter[str]()
    kept = ROOT / "out" / "attack" / f"seed-{given.seed}"
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="attack-") as place:
        attack = Attack(Path(place) / "runs", kept)
        attack.work.mkdir()
        found = scenes(Path(place) / "scenes", attack.worker.run, given.shared)
        found = [scene for scene in found if given.only in scene.name]
        began = time.monotonic()
        end = began + 60 * given.minutes
        while counts.total() < given.inputs if given.inputs else time.monotonic() < end:
            scene = rng.choice(found)
            if rng.random() < given.kills:
                number = rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
                seconds = rng.choice((None, None, None, None, rng.uniform(0.0, 2.5)))
                counts["kills"] += attack.kill(scene, number, seconds)
                continue
            if rng.random() < 0.1:
                attack.misspell(scene, misspelt(rng, scene.words))
                counts["words"] += 1
                continue
            name = rng.choice(scene.files)
            mutation = mutated(rng, name, (scene.folder / name).read_bytes())
            attack.mutate(scene, name, mutation)
            counts[mutation.kind] += 1
        attack.worker.close()
    kills = counts.pop("kills", 0)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    sys.stdout.write(
        f"{len(found)} commands, seed {given.seed}, {(time.monotonic() - began) / 60:.1f} minutes: "
        f"{counts.total()} inputs ({told}), {kills} kills, {len(attack.findings)} findings, "
        f"in {kept.relative_to(ROOT)}\n"
    )
    return int(bool(attack.findings))


if __name__ == "__main__":
    sys.exit(main())
