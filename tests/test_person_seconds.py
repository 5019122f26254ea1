"""Active seconds from recorded events: exact, for several choices of what counts."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.person.records import Logged
from truecost.person.seconds import (
    ACTS,
    SILENT,
    Timing,
    intersection,
    length,
    presentations,
    seconds_of,
    union,
    without,
)

BEGIN = [(0, "visible", None), (0, "focus", None), (0, "shown", "p")]


def session(*happened, ahead=1000.0):
    """Events from (time, kind, presentation or None for that of the question, wall clock ahead)."""
    found = []
    for time, kind, *more in [*BEGIN, *happened]:
        jump = more[1] if len(more) > 1 else 0.0
        found.append(Logged(kind, more[0] if more else "p", time, time + jump, time + ahead))
    return found


def beats(*times):
    return [(time, "beat") for time in times]


def seconds(events, **how):
    return seconds_of([events], Timing(**how))(["p"])


def active(events, **how):
    return pytest.approx(seconds(events, **how).active, abs=1e-9)


KEYS = [(k, "key") for k in (1, 2, 3)]


def test_steady_work_counts_whole():
    events = session(*KEYS, (4, "answer"))
    assert active(events) == 4
    assert active(events, idle=0.5) == 0
    assert active(events, idle=0.5, tail=0.25) == 1
    assert seconds(events).wall == 4


@pytest.mark.parametrize(("how", "wanted"), [
    ({"idle": 30}, 20), ({"idle": 4}, 6), ({"idle": 4, "tail": 1.5}, 7.5), ({"idle": 14}, 20),
])  # fmt: skip
def test_a_pause_counts_up_to_idle(how, wanted):
    """Three seconds of work, fourteen of nothing, three of work."""
    events = session(*KEYS, *beats(5, 10, 15), (17, "key"), (18, "key"), (20, "answer"))
    assert active(events, **how) == wanted


def test_another_tab_never_counts():
    events = session((3, "hidden", None), *beats(5, 10), (11, "visible", None), (13, "answer"))
    assert active(events) == 5
    assert active(events, unfocused="active") == 5
    assert seconds(events).wall == 13


def test_another_window_counts_where_that_is_chosen():
    events = session((3, "blur", None), *beats(5), (9, "focus", None), (10, "answer"))
    assert active(events) == 4
    assert active(events, unfocused="active") == 10


def test_sound_counts_without_any_act_and_without_focus():
    events = session((1, "play"), (2, "blur", None), *beats(5, 10), (11, "ended"), (12, "answer"))
    assert active(events, idle=4) == 11  # one second before, ten of sound; no focus afterwards
    assert active(events, idle=4, audio="idle") == 1
    assert seconds(events).heard == 10


def test_time_between_sound_and_an_act_counts_up_to_idle():
    events = session((1, "play"), *beats(6), (9, "ended"), (12, "key"), *beats(17), (18, "answer"))
    assert active(events, idle=4) == 12
    assert active(events, idle=2) == 9


def test_what_was_frozen_does_not_count():
    events = session((3, "freeze", None), (23, "resume", None, 0), (25, "answer"))
    assert active(events, idle=30) == 5


def test_sleep_is_known_from_the_clock_on_the_wall():
    """The clock of the page stood still while the machine slept for 20 s."""
    events = session((3, "key"), (3.5, "beat", "p", 20), (5, "answer", "p", 20))
    assert active(events) == 4.5


def test_a_silent_page_was_not_there():
    assert active(session((3, "key"), (3 + SILENT + 1, "answer"))) == 3
    assert active(session((3, "key"), (3 + SILENT, "answer"))) == 18
    hidden = session((3, "hidden", None), (33, "visible", None), (34, "answer"))
    assert active(hidden, idle=40) == 4  # a hidden page may be silent


def test_a_clock_that_is_set_back_changes_nothing():
    assert active(session((1, "key", "p", -3600), (2, "answer", "p", -3600))) == 2


def test_a_clock_that_is_set_forward_costs_the_time_between_two_events():
    assert active(session((1, "key"), (2, "key", "p", 3600), (3, "answer", "p", 3600))) == 2


def test_two_browsers_at_once_count_once():
    one = session((4, "answer"), ahead=100.0)
    other = [e._replace(pid=e.pid and "q") for e in session((4, "left"), ahead=102.0)]
    found = seconds_of([one, other], Timing())(["p", "q"])
    assert found.active == pytest.approx(6)
    assert found.wall == pytest.approx(6)
    assert seconds_of([one, other], Timing())(["q"]).active == pytest.approx(4)


def test_presentations_one_after_the_other_add_up():
    events = session((2, "left"), (5, "shown", "q"), (6, "key", "q"), (7, "answer", "q"))
    together = seconds_of([events], Timing())
    assert together(["p"]).active == 2
    assert together(["q"]).active == 2
    assert together(["p", "q"]).active == 4
    assert together(["unknown"]).wall == 0


def test_an_event_that_was_sent_late_moves_nothing():
    events = session((2, "key"), (4, "answer"))
    late = [e._replace(t=e.t + 60 * (k > 2)) for k, e in enumerate(events)]
    assert seconds_of([late], Timing())(["p"]) == seconds_of([events], Timing())(["p"])


def test_nothing_of_nothing():
    assert seconds_of([[]], Timing())(["p"]).active == 0


def test_the_signature():
    assert Timing(idle=4.5).signature == "idle:4.5s|tail:0s|audio:active|unfocused:idle"


spans = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), max_size=6).map(
    lambda pairs: union([(float(a), float(a + b)) for a, b in pairs])
)


def ticks(found):
    return {k for k in range(40) if any(a <= k < b for a, b in found)}


@given(spans, spans)
def test_stretches_are_sets(one, other):
    assert ticks(union(one, other)) == ticks(one) | ticks(other)
    assert ticks(intersection(one, other)) == ticks(one) & ticks(other)
    assert ticks(without(one, other)) == ticks(one) - ticks(other)
    assert length(one) == len(ticks(one))


KINDS = sorted(ACTS | {"hidden", "blur", "left", "freeze", "resume", "beat"})
happenings = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from(KINDS), st.sampled_from(["p", "q", None]),
              st.sampled_from([0, 0, 0, 0, 9])), max_size=14)  # fmt: skip


def slowly(events, how):
    """Active seconds of each presentation: every second is judged by itself."""
    end = events[-1].mono

    def state(second, begins, ends):
        on = False
        for event in events:
            if event.mono <= second:
                on = (on or event.kind in begins) and event.kind not in ends
        return on and second < end

    def plays(second):
        return state(second, ("play",), ("pause", "ended"))

    def quiet(second, acts, sounds):
        """Seconds since the last act, until the next one, or None; `second` lies in no sound."""
        before = [t for t in acts if t <= second] + [s + 1 for s in sounds if s < second]
        after = [t for t in acts if t > second] + [s for s in sounds if s > second]
        return (second - max(before), min([*after, end]) - max(before)) if before else None

    def lively(second, acts, sounds):
        if second in sounds:
            return True
        found = quiet(second, acts, sounds)
        return found is not None and (found[1] <= how.idle or found[0] < how.tail)

    def absent(second):
        visible, frozen = True, None
        for before, event in itertools.pairwise(events):
            visible = {"visible": True, "hidden": False}.get(before.kind, visible)
            gained = (event.wall - before.wall) - (event.mono - before.mono) > 2
            unseen = gained or (visible and event.mono - before.mono > 15)
            if unseen and before.mono <= second < event.mono:
                return True
            frozen = event.mono if event.kind == "freeze" else frozen
            if event.kind == "resume" and frozen is not None:
                if frozen <= second < event.mono:
                    return True
                frozen = None
        return False

    sums = {}
    acts = [e.mono for e in events if e.kind in ACTS]
    sounds = {k for k in range(int(end)) if plays(k)}
    for pid in dict.fromkeys(e.pid for e in events if e.pid and e.kind == "shown"):
        own = [e for e in events if e.pid == pid]
        start = next(k for k, e in enumerate(own) if e.kind == "shown")
        stop = next((e.mono for e in own[start:] if e.kind in ("answer", "left")), end)
        sums[pid] = 0
        for k in range(int(own[start].mono), int(stop)):
            looking = state(k, ("visible",), ("hidden",))
            focused = state(k, ("focus",), ("blur",)) or how.unfocused == "active"
            works = looking and focused and lively(k, acts, ())
            if how.audio == "active":
                works |= looking and (plays(k) or (focused and lively(k, acts, sounds)))
            sums[pid] += works and not absent(k)
    return sums


@given(happenings, st.integers(0, 6), st.integers(0, 3), st.booleans(), st.booleans())
def test_any_events_as_a_slow_version_counts_them(happened, idle, tail, audio, unfocused):
    time, events, ahead = 0, session(), 0
    for step, kind, pid, jump in happened:
        time, ahead = time + step, ahead + jump
        events.append(Logged(kind, pid, float(time), float(time + ahead), float(time)))
    how = Timing(float(idle), float(tail), *("active" if k else "idle" for k in (audio, unfocused)))
    found = {pid: length(one.active) for pid, one in presentations(events, how).items()}
    assert found == slowly(events, how)
