"""`python -m truecost`."""

from truecost.cli import main

main()
