"""Reports and other files: read whole, and written whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.common import opened_engine, wrong_use
from engine.errors import InputError

if TYPE_CHECKING:
    from engine.domain.runs import ResultFilter
    from engine.services.reports import Export


def export(
    run_id: Annotated[int, typer.Option("--run-id", help="The run's number.")],
    execution_status: Annotated[str | None, typer.Option(help="completed or error.")] = None,
    verdict: Annotated[
        str | None, typer.Option(help="pass, fail, needs_human_review, judge_format_error or none.")
    ] = None,
    file_format: Annotated[str, typer.Option("--format", help="md")] = "md",
    output: Annotated[
        Path | None, typer.Option("-o", help="Default: outputs/run_<id>_results.md; - for stdout.")
    ] = None,
) -> None:
    """Write a finished run's detailed report."""
    from engine.services import reports

    if file_format != "md":
        wrong_use(f"no format {file_format!r} in this release; known: md")
    where = _filter(execution_status, verdict)
    with opened_engine("export", worker=False) as (engine, actor):
        hand_out(reports.export(engine, run_id, where, actor=actor), output)


def _filter(execution_status: str | None, verdict: str | None) -> ResultFilter:
    from engine.domain.runs import ExecutionStatus, ResultFilter
    from engine.domain.verdicts import Verdict

    statuses = [status.value for status in ExecutionStatus]
    verdicts = [*(each.value for each in Verdict), "none"]
    if execution_status is not None and execution_status not in statuses:
        wrong_use(f"--execution-status: no {execution_status!r}; known: {', '.join(statuses)}")
    if verdict is not None and verdict not in verdicts:
        wrong_use(f"--verdict: no {verdict!r}; known: {', '.join(verdicts)}")
    return ResultFilter(
        execution_status=ExecutionStatus(execution_status) if execution_status is not None else None, verdict=verdict
    )


def content_of(path: Path) -> bytes:
    """All of a file. Raises InputError `bad_file`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", code="bad_file") from error


def hand_out(made: Export, output: Path | None) -> None:
    """To the file, the default one under outputs/, or to stdout."""
    if output == Path("-"):
        for chunk in made.chunks:
            sys.stdout.buffer.write(chunk)
        return
    target = output or Path("outputs") / made.file_name
    _write(target, made.chunks)
    typer.echo(str(target))


def _write(target: Path, chunks: Iterator[bytes]) -> None:
    """All or nothing: a report cut short by a crash or a full disk is never left under the final name."""
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
        aside.replace(target)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}", code="bad_output") from error
    finally:
        aside.unlink(missing_ok=True)
