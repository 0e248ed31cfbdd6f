"""Stand-ins for the outside world, shared by the tests of several parts."""
