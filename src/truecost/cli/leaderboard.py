"""`leaderboard`: many submissions on the same trials, with paired intervals."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.options import (
    NO_COSTS,
    NO_DATA,
    NO_INTERVAL,
    PLAIN,
    Costs,
    Data,
    Interval,
    Output,
    study_of,
)

if TYPE_CHECKING:
    from truecost.study import Study

Names = Annotated[tuple[str, ...], Parameter(negative=())]


def leaderboard(
    *files: Annotated[str, Parameter(negative=())],
    data: Data = NO_DATA,
    measure: Names = (),
    costs: Costs = NO_COSTS,
    interval: Interval = NO_INTERVAL,
    keep_going: Annotated[bool, Parameter(negative=())] = False,
    output: Output = PLAIN,
) -> int:
    """Rank submissions by the first measure; those that the data do not tell apart share a rank.

    Example: truecost leaderboard submissions/*.txt --key key.txt --type llr --preset sre-2010

    Parameters
    ----------
    files
        Score files of the same trials; NAME=PATH names a submission.
    measure
        NAME or NAME:PARAMETER; the first one ranks. See: truecost list measures
    keep_going
        Leave out invalid submissions and say so, in place of stopping at them.
    """
    study = study_of(files, data, costs, interval, measure, config=output.config)
    return ranked(study, keep_going, output)


def ranked(study: "Study", keep_going: bool, output: Output) -> int:
    """Rank the systems of a study and print their standings."""
    from truecost.cli.terminal import Screen, beside_board, standings_table
    from truecost.cli.trials import report, said_instead
    from truecost.study import check_target
    from truecost.study.ranking import rank

    if said_instead(study, output):
        return 0
    if output.output is not None:
        check_target(output.output)
    screen = Screen(output)
    with screen.progress() as progress:
        outcome = rank(study, progress, keep_going=keep_going)
    table = standings_table(outcome, screen.out.width)
    code = report(outcome, output, screen, lambda _: [table])
    if not output.json and (said := beside_board(outcome, table, output.output)):
        screen.say(said)
    return code
