"""The catalogues and the command that keeps them complete."""
