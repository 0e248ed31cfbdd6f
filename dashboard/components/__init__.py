"""Pieces drawn on two or more pages, one file and one `draw` each."""
