"""How searches for terms stand on the terminal."""

from truecost.cli.tables import Layout

LAYOUT = Layout(
    way="counts of queries in documents are weighed; thresholds are swept in every replicate"
)
