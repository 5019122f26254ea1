"""Diarization beside other tools: the figures of AMI meetings, md-eval and pyannote.metrics."""

import gzip
import itertools
import warnings

import numpy as np
import polars as pl
import pytest

from diarized import counts, everywhere, random_turns, regions, told, turns
from truecost.formats import Table
from truecost.formats.segments import read_rttm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pyannote.core import Annotation, Segment, Timeline
    from pyannote.metrics.detection import DetectionErrorRate
    from pyannote.metrics.diarization import DiarizationErrorRate, JaccardErrorRate

SPEECH = ("reference", "correct", "missed", "false_alarm", "confusion")


@pytest.fixture(scope="session")
def ami(shared):
    """Tables of the AMI meetings: the reference and two systems."""

    def table(name):
        data = (shared / "data" / "ami_diarization" / f"{name}.gz").read_bytes()
        return read_rttm(gzip.decompress(data), name)

    names = {"ref": "ref_rttm_test", "vb": "rttm_test_vb", "sc": "rttm_test_sc"}
    return {short: table(name) for short, name in names.items()}


@pytest.mark.parametrize(
    ("system", "collar", "figures", "der"),
    [  # shared/cases/MANIFEST.md: computed with pyannote.metrics 4.2
        ("vb", 0.0, (33952.946, 3341.517, 700.031, 3257.827), 0.214985),
        ("vb", 0.25, (24843.345, 1599.955, 289.969, 1622.444), 0.141381),
        ("sc", 0.0, (33952.946, 3896.731, 771.405, 3329.806), 0.235560),
        ("sc", 0.25, (24843.345, 1749.815, 325.331, 1746.931), 0.153847),
    ],
)
def test_ami_equals_the_figures_of_the_manifest(ami, system, collar, figures, der):
    found = counts(ami["ref"], ami[system], collar=collar)
    total, *errors = (found[k] for k in ("reference", "missed", "false_alarm", "confusion"))
    assert (total, *errors) == pytest.approx(figures, abs=0.0006)  # far inside its tolerance
    assert sum(errors) / total == pytest.approx(der, abs=6e-7)


MD_EVAL = {  # scored, missed, false alarm and error time of md-eval.pl version 22 (Debian sctk)
    # perl md-eval.pl -r ref.rttm -s SYSTEM.rttm -u SYSTEM.uem -c COLLAR [-1]
    # ref.rttm and SYSTEM.rttm: touching turns of a speaker merged (md-eval keeps the boundary
    # between them, which moves the first row with a collar to 24795.75, 1593.65, 289.59, 1617.38);
    # SYSTEM.uem: the extent of reference and output; ".Mix-Headset" cut from all names
    ("vb", 0.0, False): (33952.95, 3341.52, 700.03, 3257.83),
    ("vb", 0.0, True): (21911.26, 15.42, 700.03, 1140.44),
    ("vb", 0.25, False): (24843.35, 1599.96, 289.97, 1622.44),
    ("vb", 0.25, True): (18881.94, 0.19, 289.97, 565.57),
    ("sc", 0.0, False): (33952.95, 3896.73, 771.40, 3329.81),
    ("sc", 0.0, True): (21911.26, 6.44, 771.40, 1200.77),
    ("sc", 0.25, False): (24843.35, 1749.82, 325.33, 1746.93),
    ("sc", 0.25, True): (18881.94, 0.01, 325.33, 620.76),
}


@pytest.mark.parametrize(("system", "collar", "skip"), MD_EVAL)
def test_ami_equals_md_eval(ami, system, collar, skip):
    found = counts(ami["ref"], ami[system], collar=collar, skip_overlap=skip, mapping="evaluated")
    shown = [found[k] for k in ("reference", "missed", "false_alarm", "confusion")]
    assert shown == pytest.approx(MD_EVAL[system, collar, skip], abs=0.0051)


SHORT = [(f"{k}", k, k + 0.8) for k in range(0, 10, 2)]  # wholly inside collars of half a second


def test_where_speakers_are_mapped_as_md_eval_does():
    """`md-eval.pl -c 0.5 -u uem` of version 22: scored 2.00, missed 0.00, error 2.00 s."""
    reference = turns(*(("m", "A", s, e) for _, s, e in SHORT), ("m", "A", 20, 23))
    output = turns(*(("m", "x", s, e) for _, s, e in SHORT), ("m", "y", 20, 23))
    uem = regions(("m", 0, 30))
    md_eval = counts(reference, output, uem=uem, collar=0.5, mapping="evaluated")
    assert md_eval == {**dict.fromkeys(SPEECH, 0.0), "reference": 2.0, "confusion": 2.0}
    pyannote = counts(reference, output, uem=uem, collar=0.5, mapping="scored")
    assert pyannote == {**dict.fromkeys(SPEECH, 0.0), "reference": 2.0, "correct": 2.0}


# pyannote.metrics, on real and random data


def annotation(table, recording):
    found = Annotation(uri=recording)
    rows = table.frame.filter(pl.col("recording") == recording)
    columns = rows.select("speaker", "start", "end").iter_rows()
    for k, (speaker, start, end) in enumerate(columns):
        found[Segment(start, end), k] = speaker
    return found.support()  # its collars need merged segments, as ours are


def peers(reference, output, metric, uem=None):
    """The components of each recording, in the order of their names."""
    found = []
    for recording in sorted(set(reference.frame["recording"])):
        sides = [annotation(table, recording) for table in (reference, output)]
        if uem is None:
            extent = sides[0].get_timeline().extent() | sides[1].get_timeline().extent()
            scored = Timeline([extent])
        else:
            rows = uem.frame.filter(pl.col("recording") == recording)
            scored = Timeline([Segment(*t) for t in rows.select("start", "end").iter_rows()])
        found.append(metric(*sides, uem=scored, detailed=True))
    return found


def assert_same_times(items, found):
    names = ("total", "correct", "missed detection", "false alarm", "confusion")
    for ours, theirs in zip(SPEECH, names, strict=True):
        values = [components[theirs] for components in found]
        assert items.parts["speech"][ours] / 1e6 == pytest.approx(values, abs=1e-6)


@pytest.mark.parametrize(
    ("system", "collar", "skip", "uem"),
    [
        ("vb", 0.0, False, True),
        ("vb", 0.0, True, False),
        ("vb", 0.25, False, False),
        ("vb", 0.25, True, True),
        ("sc", 0.25, True, False),
    ],
)
def test_meetings_equal_pyannote(ami, system, collar, skip, uem):
    def some(table):
        chosen = pl.col("recording").str.contains(r"^(EN2002a|ES2004a|IS1009b)")
        return Table(table.source, table.frame.filter(chosen))

    reference, output = some(ami["ref"]), some(ami[system])
    names = sorted(set(reference.frame["recording"]))
    scored = regions(*((n, *t) for n in names for t in ((60.0, 333.3), (400.01, 777.777))))
    scored = scored if uem else None
    items = told(reference, output, uem=scored, collar=collar, skip_overlap=skip)
    metric = DiarizationErrorRate(collar=2 * collar, skip_overlap=skip)
    assert_same_times(items, peers(reference, output, metric, scored))
    assert items.ids.tolist() == names


SETTINGS = list(itertools.product((0.0, 0.1, 0.5), (False, True), (False, True)))


@pytest.mark.parametrize(("collar", "skip", "uem"), SETTINGS)
@pytest.mark.parametrize("seed", range(4))
def test_random_recordings_equal_pyannote(seed, collar, skip, uem):
    rng = np.random.default_rng(seed)
    reference = random_turns(rng, speakers=3)
    output = random_turns(rng, speakers=4, prefix="x")
    scored = regions(*((f"r{k}", 2.5, 11.125) for k in range(3)), ("r0", 20.0, 60.0))
    scored = scored if uem else None
    items = told(reference, output, uem=scored, collar=collar, skip_overlap=skip)
    metric = DiarizationErrorRate(collar=2 * collar, skip_overlap=skip)
    assert_same_times(items, peers(reference, output, metric, scored))


@pytest.mark.parametrize("seed", range(8))
def test_jaccard_errors_beside_pyannote(seed):
    """It maps by the time in common, not by the Jaccard errors: its sums are never below ours."""
    rng = np.random.default_rng(seed)
    reference = random_turns(rng, speakers=3)
    output = random_turns(rng, speakers=4, prefix="x")
    found = told(reference, output, parts=("speakers",)).parts["speakers"]
    theirs = peers(reference, output, JaccardErrorRate())
    assert found["speakers"].tolist() == [c["speaker count"] for c in theirs]
    assert all(found["errors"] <= np.array([c["speaker error"] for c in theirs]) + 1e-9)


def test_jaccard_errors_equal_pyannote_where_mappings_agree():
    reference = turns(("m", "A", 0, 10), ("m", "B", 8, 20), ("m", "C", 30, 31))
    output = turns(("m", "1", 0, 12), ("m", "2", 12, 18))
    [theirs] = peers(reference, output, JaccardErrorRate())
    found = counts(reference, output, ("speakers",))
    assert found["speakers"] == 3
    assert found["errors"] == pytest.approx(theirs["speaker error"], abs=1e-12)
    assert found["errors"] == pytest.approx(2 / 12 + 6 / 12 + 1, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tolerance", [0.0, 0.2])
def test_voice_activity_equals_pyannote(seed, tolerance):
    rng = np.random.default_rng(seed)
    reference, output = random_turns(rng, n=5), random_turns(rng, n=5, prefix="x")
    uem = everywhere(reference)
    found = told(reference, output, uem=uem, parts=("activity",), tolerance=tolerance)
    speech = turns(*((r, "any", s, e) for r, _, s, e in reference.frame.iter_rows()))
    for k, theirs in enumerate(peers(speech, output, DetectionErrorRate(2 * tolerance), uem)):
        names = (("speech", "total"), ("missed", "miss"), ("false_alarm", "false alarm"))
        for ours, name in names:
            value = found.parts["activity"][ours][k] / 1e6
            assert value == pytest.approx(theirs[name], abs=1e-6)
