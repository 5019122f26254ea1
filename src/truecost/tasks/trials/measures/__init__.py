"""The measures of trials, by what they read."""
