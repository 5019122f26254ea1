"""`truecost` and `python -m truecost`: no traceback is shown, from the first import on."""

import signal
import sys

from truecost.errors import Terminated, terminate


def main() -> None:
    """Run the command line and exit."""
    try:
        signal.signal(signal.SIGTERM, terminate)
        from truecost.cli import run

        status = run(sys.argv[1:])
        for number in (signal.SIGINT, signal.SIGTERM):  # all is done: nothing is left to interrupt
            signal.signal(number, signal.SIG_IGN)
    except KeyboardInterrupt as stop:  # while something was imported
        status = 143 if isinstance(stop, Terminated) else 130
    sys.exit(status)


if __name__ == "__main__":
    main()
