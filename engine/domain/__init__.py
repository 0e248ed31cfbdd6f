"""What things are. Frozen, typed, no I/O; every other room may import from here."""
