"""The progress bar of a run on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from engine.cli import watching

if TYPE_CHECKING:
    from engine.domain import runs


class Bar(Progress):
    """State, bar, done of all, errors, pace and time left; below it why nothing moves, while nothing moves."""

    def __init__(self, console: Console | None = None) -> None:
        self._waiting = ""
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}", markup=False),
            console=console or Console(stderr=True),
            refresh_per_second=4,
        )
        self._task = self.add_task("starting", total=None, figures="")

    def show(self, now: runs.Progress) -> None:
        self._waiting = watching.waiting(now.run.waiting) if now.run.waiting is not None else ""
        self.update(
            self._task,
            total=now.run.total_count,
            completed=now.done,
            description=f"run {now.run.id} {now.run.status}",
            figures=watching.figures(now),
        )

    def get_renderables(self) -> Iterable[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        if self._waiting:
            yield Text(self._waiting, style="yellow")
