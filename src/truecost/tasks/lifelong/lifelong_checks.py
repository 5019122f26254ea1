"""Life cycles of a study, checked: tables of scores and event logs, with what is odd about them."""

from collections.abc import Iterator, Sequence

from truecost.errors import InputError, TruecostError, counted
from truecost.formats.events import EventLog
from truecost.study.checks import Check
from truecost.study.config import Study
from truecost.study.reader import Reader
from truecost.study.sources import Source
from truecost.tasks.lifelong.log_events import findings_of
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.read import read_life, tells_events
from truecost.tasks.lifelong.records import Lifelong
from truecost.tasks.lifelong.settings import lifelong_options
from truecost.tasks.streams.online import logs_of


def checks(source: Source, reader: Reader, study: Study, wanted: str | None) -> list[Check]:
    """All checks of a table of scores, or of the event logs of a system.

    Raises
    ------
    InputError
        When the weights of a policy cannot be read.
    """
    del wanted
    how = reader.once(("policies",), lambda: lifelong_options(study, reader))
    found = [*_of_logs(source, reader, study)]
    if not any(check.state == "error" for check in found):
        said = {check.message for check in found}
        record = _of_record(source, reader, study, how)
        found += [check for check in record if check.message not in said]
    return found


def _of_logs(source: Source, reader: Reader, study: Study) -> Iterator[Check]:
    """Every fault of the logs of a system, not only the first; nothing of a table of scores."""
    if not tells_events(source.file, reader, study):
        return
    try:
        paths, unfinished = logs_of(source.file, source.runs)
    except InputError as error:
        yield Check("file", "error", str(error))
        return
    yield from (Check("file", "warning", f"{path}: is not finished") for path in unfinished)
    for path in paths:
        try:
            log = reader.events(path, source.data.input_format)
        except TruecostError as error:
            yield Check("file", "error", str(error))
        else:
            yield from _of_log(log)


def _of_log(log: EventLog) -> Iterator[Check]:
    yield Check("file", "ok", f"{log.source}: {counted(log.frame.height, 'event')} read")
    yield from (Check("file", "warning", text) for text in log.problems)
    yield from (Check(f.name, f.state, f.message) for f in findings_of(log))


def _of_record(
    source: Source, reader: Reader, study: Study, how: LifelongScoring
) -> Iterator[Check]:
    """What the versions and times are, whether the policies weigh them, and what is odd."""
    try:
        record = read_life(source, reader, study)
        unweighed = _unweighed(record, how)
    except TruecostError as error:
        yield Check("scores", "error", str(error))
        return
    yield Check("scores", "ok", f"{source.file}: {record.summary}")
    yield from (Check("scores", "warning", text) for text in (*record.problems, *unweighed))


def _unweighed(record: Lifelong, how: LifelongScoring) -> Sequence[str]:
    """Versions for which a policy gives no weight to any time; InputError as the policies say."""
    found = []
    for policy in how.policies:
        weights = policy.weights(record.learnt, record.test.at, record.test.times)
        if not weights[-1].any():
            found.append(
                f"policy {policy.name}: no time that version {record.versions[-1]} has seen has a "
                f"weight, so that its score is undefined"
            )
    return found
