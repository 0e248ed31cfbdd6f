"""The tree of the product again, seen from outside."""
