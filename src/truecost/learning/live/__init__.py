"""Live runs: studies that make the event logs that they score."""
