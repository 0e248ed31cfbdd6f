"""The queue and the decisions of people."""
