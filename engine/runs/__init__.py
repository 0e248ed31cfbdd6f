"""Plan, probe, execute, resume: the background engine."""
