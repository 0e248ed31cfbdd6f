"""Measurements: `make bench`. Not part of the test suite, because they time things."""
