"""What the package of a commit prints and writes, against that of the work tree."""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from golden.comparing import differences, files
from golden.pages import MAKING, Job, all_jobs, say

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Make both corpora and compare them; 1 when they differ."""
    given = options()
    start = time.monotonic()
    sha = git("rev-parse", "--verify", f"{given.rev}^{{commit}}")
    base = ROOT / "out" / "golden" / sha
    tree = base / "tree"
    if not tree.exists():
        git("worktree", "prune")
        git("worktree", "add", "--detach", "--force", str(tree), sha)
    jobs = list(all_jobs(tree, given.shared, given.long, given.only))
    if not jobs:
        say(f"no page's name holds {given.only!r}")
        return 2
    with tempfile.TemporaryDirectory(dir=base.parent, prefix="work-") as temporary:
        new = (given.keep or Path(temporary)).resolve()
        if given.keep and new.exists() and any(new.iterdir()):
            say(f"{given.keep} is not empty")
            return 2
        old = base / "corpus"
        with ThreadPoolExecutor(given.jobs) as pool:
            runs = [
                pool.submit(run, corpus, source, job, tree, given.shared)
                for job in jobs
                for corpus, source in ((old, tree), (new, ROOT))
            ]
        failed = [said for said in (run.result() for run in runs) if said]
        code = compare(old, new, jobs, given.lines)
    say(f"{len(jobs)} pages in {time.monotonic() - start:.0f} s; that of {given.rev}: {old}")
    for text in failed:
        say(text)
    return 2 if failed else code


def options() -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="scripts/golden", description=__doc__)
    parser.add_argument("rev", metavar="REV", help="commit to compare with; gives the pages")
    parser.add_argument("--only", default="", help="pages whose name holds this")
    parser.add_argument("--jobs", type=int, default=2, help="pages at a time")
    parser.add_argument("--long", action="store_true", help="pages that take minutes, too")
    parser.add_argument("--lines", type=int, default=40, help="lines shown of each difference")
    parser.add_argument("--keep", type=Path, help="new folder for the corpus of the work tree")
    parser.add_argument(
        "--shared", type=Path, default=ROOT.parent / "shared", help="the data beside the repository"
    )
    return parser.parse_args()


def git(*words: str) -> str:
    """What a git command prints."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.strip())
    return done.stdout.strip()


def run(corpus: Path, source: Path, job: Job, tree: Path, shared: Path) -> str:
    """Make a page with the package of `source`, unless it is there; gives what went wrong."""
    target = corpus / "pages" / job.name if job.name != "help" else corpus / "help"
    stamp = target / ".job"
    if stamp.exists() and stamp.read_text() == job.digest:
        return ""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    names = {source: "TREE", tree: "PAGES", shared.resolve(): "SHARED", Path(sys.prefix): "PYTHON"}
    task = {
        "name": job.name,
        "text": job.text,
        "target": str(target),
        "source": str(source),
        "needs": [str(need) for need in job.needs],
        "places": {str(path): name for path, name in names.items()},
    }
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-P", str(MAKING)],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=False,
        env=environment(source),
    )
    which = "work tree" if source == ROOT else "commit"
    say(f"{time.monotonic() - start:6.1f} s  {job.name} ({which})")
    if done.returncode:
        return f"failed: {job.name} ({which})\n{done.stderr}"
    stamp.write_text(job.digest)
    return ""


def environment(source: Path) -> dict[str, str]:
    """The environment of a run: its package alone, no colours, and its own compiled kernels."""
    kernels = hashlib.sha256()
    for path in sorted((source / "src").rglob("kernels/**/*.py")):
        kernels.update(path.read_bytes())
    given = {k: v for k, v in os.environ.items() if not k.startswith("GITHUB_")}
    return given | {
        "PYTHONPATH": os.pathsep.join(str(source / part) for part in ("src", "tests")),
        "NO_COLOR": "1",
        "COLUMNS": "120",
        "NUMBA_CACHE_DIR": str(ROOT / "out" / "golden" / f"numba-{kernels.hexdigest()[:16]}"),
    }


def compare(old: Path, new: Path, jobs: list[Job], lines: int) -> int:
    """Say what differs; 1 if anything does."""
    found = count = 0
    for job in jobs:
        part = "help" if job.name == "help" else f"pages/{job.name}"
        count += len(files(new / part))
        for text in differences(old / part, new / part, lines):
            sys.stdout.write(f"{part}: {text}")
            found += 1
    said = f"{found} of {count} files differ" if found else f"nothing differs in {count} files"
    sys.stdout.write(f"{said}\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
