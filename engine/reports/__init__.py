"""Summaries, statistics and exports: derived at read time from stored rows, never stored."""
