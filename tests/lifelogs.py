"""Event logs of life cycles, written event by event, for tests."""

import json
import random

KINDS = {
    "classes": ("cat", "dog", "eel"),
    "transcripts": ("the cat sat", "a dog ran off", "no", "one two three four five"),
    "translation": ("the cat sat on the mat", "a dog ran off to the sea", "it may rain today"),
}
WRONG = {"classes": "dog", "transcripts": "the hat sat up", "translation": "the hat lay on a mat"}


def life(
    kind="classes",
    versions=3,
    times=3,
    items=4,
    *,
    seed=0,
    help_=2,
    post=True,
    offline=0,
    volunteer=False,
    frozen=False,
    verdict=None,
    run=None,
):
    """The events of one run; what is said is drawn, what is asked are the first `help_` items."""
    rng = random.Random(f"{kind}{seed}")
    right = random.Random(kind)  # the same for all seeds
    refs, said = {}, {}
    events = []

    def log(event, **columns):
        named = {} if run is None else {"run": run}
        events.append({"event": event, **columns, **named})

    def ref(name):
        return refs.setdefault(name, right.choice(KINDS[kind]))

    def output(name, fresh=True):
        if fresh or name not in said:
            said[name] = (
                ref(name) if rng.random() < 0.5 else rng.choice((*KINDS[kind], WRONG[kind]))
            )
        return said[name]

    def predict(names, phase, fresh=True, **columns):
        for name in names:
            decision = output(name, fresh)
            log("predict", phase=phase, id=name, decision=decision, label=ref(name), score=0.0,
                **columns)  # fmt: skip

    def helped(names, **columns):
        for name in names[:help_]:
            if not volunteer:
                log("query", id=name, **columns)
            says = {"label": ref(name)} if verdict is None else {"verdict": verdict}
            log("answer", id=name, expert="ann", active_seconds=2.5, words=2, actions=3,
                **says, **columns)  # fmt: skip

    def tested(version, fresh=True):
        for j in range(times):
            names = [f"t{j}-{k}" for k in range(items)]
            at = {"set": "test", "version": version, "batch": j, "t": j + 0.5}
            predict(names, "pre", fresh, **at)
            if help_:
                helped(names, **at)
                log("adapt", **at)
                if post:
                    predict(names, "post", **at)

    # What is right must not depend on the order in which it is asked for.
    for j in range(times):
        for k in range(items):
            ref(f"t{j}-{k}")
    for i in range(1, versions):
        for k in range(items):
            ref(f"l{i}-{k}")
    tested(0)
    for i in range(1, versions):
        names = [f"l{i}-{k}" for k in range(items)]
        at = {"batch": i - 1, "t": float(i - 1)}
        predict(names, "pre", version=i - 1, **at)
        if not frozen:
            helped(names, version=i - 1, **at)
            log("adapt", version=i, **at)
        predict(names, "post", not frozen, version=i, **at)
        if offline:
            for k in range(offline):
                log("query", id=names[k], set="offline", version=i, **at)
                log("answer", id=names[k], set="offline", version=i, label=ref(names[k]),
                    expert="ann", active_seconds=1.0, **at)  # fmt: skip
            log("adapt", set="offline", version=i, **at)
        tested(i, not frozen)
    return events


def write(path, events):
    """Events as JSON lines."""
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return str(path)
