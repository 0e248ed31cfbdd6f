"""`python -m engine.cli`: the same as `magistrate`."""

from engine.cli import main

if __name__ == "__main__":
    main()
