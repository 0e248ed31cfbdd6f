"""How a run looks from a terminal until it is over: a bar, plain lines where no terminal is, or JSON for programs."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from engine.cli.common import DONE, INTERRUPTED, NOT_DONE
from engine.cli.ending import Terminated, ending

if TYPE_CHECKING:
    from datetime import datetime

    from engine.assembly import Engine
    from engine.domain.runs import Progress, Run, Waiting

PROGRESS_EVERY_S = 0.5
"""How often the store is asked how far it is."""

OVER_EVERY_S = 0.05
"""How often the engine, which is in this process, is asked whether it is over."""

LINE_EVERY_S = 5.0
"""How often a plain line says how far it is."""

Show = Callable[["Progress"], None]


def watch(engine: Engine, run_id: int, *, as_json: bool) -> NoReturn:
    """Show a run until it is over. Exit 0 when it is completed, 130 after Ctrl-C, else 3."""
    from engine.services import runs

    told: BaseException | None = None
    with _shown(as_json) as show:
        try:
            _follow(engine, run_id, show)
        except (KeyboardInterrupt, Terminated) as signal:
            told = signal
            engine.require_worker().stop()
    ended = runs.get(engine, run_id, actor=_actor())
    if as_json:
        typer.echo(json.dumps({"event": "finished", **ended.model_dump(mode="json")}, ensure_ascii=False))
    else:
        typer.echo(line_of(ended))
        if told is not None and ended.status != "completed":
            typer.echo(f"stopped; `magistrate resume {run_id}` goes on", err=True)
        elif ended.error:
            typer.echo(ended.error, err=True)
    if isinstance(told, KeyboardInterrupt):
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(DONE if ended.status == "completed" else NOT_DONE)


def _follow(engine: Engine, run_id: int, show: Show) -> None:
    from engine.services import runs

    worker, actor = engine.require_worker(), _actor()
    look_at = 0.0
    while worker.is_alive and worker.live(run_id) is not None:
        ending.look()
        if time.monotonic() >= look_at:
            now = runs.progress(engine, run_id, actor=actor)
            show(now)
            if now.run.status.is_over:
                return  # the engine may go on offering the end to a store that is full
            look_at = time.monotonic() + PROGRESS_EVERY_S
        time.sleep(OVER_EVERY_S)
    show(runs.progress(engine, run_id, actor=actor))


def _actor() -> Any:
    from engine.assembly import command_line_user

    return command_line_user()


@contextlib.contextmanager
def _shown(as_json: bool) -> Iterator[Show]:
    """A function that shows how far a run is. Only the bar needs rich, and it is slow to import."""
    if as_json:
        yield _JsonLines()
    elif sys.stderr.isatty():
        from engine.cli.bar import Bar

        with Bar() as bar:
            yield bar.show
    else:
        yield _PlainLines()


class _JsonLines:
    """One object a line, whenever something changed."""

    def __init__(self) -> None:
        self._last: object = None

    def __call__(self, now: Progress) -> None:
        from engine.domain.runs import ProgressEvent

        event = ProgressEvent.of(now)
        if event != self._last:
            self._last = event
            said = {"event": "progress", "run_id": now.run.id, **event.model_dump(mode="json")}
            typer.echo(json.dumps(said, ensure_ascii=False))


class _PlainLines:
    """A line on stderr now and then, and at once when the run comes to another state or waits."""

    def __init__(self) -> None:
        self._state: object = None
        self._next_at = 0.0

    def __call__(self, now: Progress) -> None:
        state = (now.run.status, now.run.waiting.reason if now.run.waiting is not None else None)
        if now.run.status.is_over or (state == self._state and time.monotonic() < self._next_at):
            return
        self._state, self._next_at = state, time.monotonic() + LINE_EVERY_S
        typer.echo(f"run {now.run.id} {now.run.status}: {now.done} of {now.run.total_count}, {figures(now)}", err=True)
        if now.run.waiting is not None:
            typer.echo(f"run {now.run.id} {waiting(now.run.waiting)}", err=True)


def figures(now: Progress) -> str:
    """Such as `5 errors, 51.2 per s, 4 s left`; what nobody knows is left out."""
    parts = [f"{now.run.error_count} errors"]
    if now.in_flight:
        parts.append(f"{now.in_flight} in flight")
    if now.rate_per_s:
        parts.append(f"{now.rate_per_s:.1f} per s")
    if now.eta_s is not None:
        parts.append(f"{_duration(now.eta_s)} left")
    return ", ".join(parts)


def waiting(why: Waiting) -> str:
    """Why nothing moves, and until when."""
    words = {
        "rate_limited": "waits: rate-limited" + (f" until {_clock(why.until)}" if why.until else ""),
        "provider_down": f"waits: the provider is down since {_clock(why.since)}"
        + (f", next try at {_clock(why.until)}" if why.until else ""),
        "key_refused": "waits: the key is refused",
    }
    return f"{words[why.reason.value]} ({why.message})"


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


def _clock(moment: datetime) -> str:
    return f"{moment.astimezone():%H:%M:%S}"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60} min {whole % 60:02d} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    )
