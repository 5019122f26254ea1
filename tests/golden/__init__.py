"""The golden corpus: what commands print and write, with two versions of the package."""
