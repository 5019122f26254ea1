"""The protocol of a study: its ledger, spurious correlations, trainings, methods."""
