"""How a run looks from a terminal until it is over."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from engine.cli.common import NOT_DONE

if TYPE_CHECKING:
    from engine.assembly import Engine
    from engine.domain.runs import Progress, Run

PROGRESS_EVERY_S = 0.5


def watch(engine: Engine, run_id: int, *, as_json: bool) -> None:
    """Show a run until it is over; exit 3 unless it completed."""
    from engine.assembly import command_line_user
    from engine.services import runs

    actor = command_line_user()
    with _progress_display(as_json) as show:
        while not (now := runs.progress(engine, run_id, actor=actor)).run.status.is_over:
            show(now)
            time.sleep(PROGRESS_EVERY_S)
        show(now)
    if as_json:
        typer.echo(json.dumps({"event": "finished", **now.run.model_dump(mode="json")}, ensure_ascii=False))
    else:
        typer.echo(line_of(now.run))
        if now.run.error:
            typer.echo(now.run.error, err=True)
    if now.run.status != "completed":
        raise typer.Exit(NOT_DONE)


@contextlib.contextmanager
def _progress_display(as_json: bool) -> Iterator[Any]:
    """A function that shows a Progress: JSON lines, a bar on a terminal, a line now and then elsewhere."""
    if as_json:
        yield lambda now: typer.echo(json.dumps({"event": "progress", **_pace(now)}))
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=None)

        def show(now: Progress) -> None:
            said = f"run {now.run.id} {now.run.status}, {now.run.error_count} errors"
            bar.update(task, total=now.run.total_count, completed=now.done, description=said)

        yield show


def _pace(now: Progress) -> dict[str, Any]:
    return {
        "run_id": now.run.id,
        "status": now.run.status,
        "done": now.done,
        "total": now.run.total_count,
        "errors": now.run.error_count,
        "in_flight": now.in_flight,
        "rate": now.rate_per_s,
        "eta_s": now.eta_s,
        "verdict_counts": now.run.verdict_counts.model_dump(mode="json"),
    }


def line_of(run: Run) -> str:
    """A run in one line."""
    counts = run.verdict_counts
    simulated = " (simulated)" if run.simulated else ""
    return (
        f"run {run.id}  {run.status}  {run.model}{simulated} on {run.profile}: "
        f"{run.completed_count} answered, {run.error_count} errors, {run.skipped_count} skipped of {run.total_count}; "
        f"{counts.passed} pass, {counts.fail} fail, {counts.needs_human_review} to review, "
        f"{counts.judge_format_error} judge unreadable, {counts.none} no verdict"
    )
