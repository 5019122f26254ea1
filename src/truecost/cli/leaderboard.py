"""`leaderboard`: many submissions on the same trials, with paired intervals."""

from typing import TYPE_CHECKING

from truecost.cli.output import Output

if TYPE_CHECKING:
    from truecost.study import Study


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
