"""A run in numbers, and its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import NamedTuple

from engine.assembly import Engine
from engine.domain.accounts import Permission, User
from engine.domain.runs import ClauseRow, ResultFilter, RunConfig
from engine.errors import ConflictError
from engine.reports import markdown, summary
from engine.reports.summary import Rate, Totals
from engine.services import runs

__all__ = ["Export", "Rate", "Totals", "by_clause", "export", "totals"]


class Export(NamedTuple):
    """A file in the making. `chunks` may be read once."""

    file_name: str
    media_type: str
    chunks: Iterator[bytes]


def by_clause(engine: Engine, run_id: int, *, actor: User, language: str = "en") -> list[ClauseRow]:
    """31 rows, one a clause, with titles in the language asked for. Raises NotFoundError `run_not_found`."""
    actor.require(Permission.READ)
    engine.stores.runs.require(run_id)
    return summary.by_clause(engine.stores.results.by_clause(run_id), language=language)


def totals(engine: Engine, run_id: int, *, actor: User) -> Totals:
    """The figures a reader looks at first. Raises NotFoundError `run_not_found`."""
    actor.require(Permission.READ)
    engine.stores.runs.require(run_id)
    return summary.totals(engine.stores.results.by_mode(run_id))


def export(engine: Engine, run_id: int, where: ResultFilter, *, actor: User) -> Export:
    """The detailed Markdown report, `run_<id>_results.md`.

    Raises:
        ConflictError: `run_not_terminal`: a report of a run under way would be out of date before it is read.
    """
    actor.require(Permission.READ)
    run = runs.get(engine, run_id, actor=actor)
    if not run.status.is_over:
        raise ConflictError(
            f"run {run_id} is {run.status}; a report can be had when it is over", code="run_not_terminal"
        )
    config = engine.stores.runs.config(run_id)
    figures = summary.totals(engine.stores.results.by_mode(run_id))
    results = engine.stores.results.stream(run_id, where)
    return Export(
        file_name=f"run_{run_id}_results.md",
        media_type="text/markdown; charset=utf-8",
        chunks=markdown.chunks(
            run,
            figures,
            results,
            shown=_in_words(where),
            audit=config.audit,
            prompts_sha256=_prompts_sha256(config),
        ),
    )


def _prompts_sha256(config: RunConfig) -> str | None:
    """Of the frozen words, as JSON with sorted keys."""
    if config.judge_prompts is None:
        return None
    return hashlib.sha256(json.dumps(config.judge_prompts, sort_keys=True).encode()).hexdigest()


def _in_words(where: ResultFilter) -> str:
    asked = {name: value for name, value in where.model_dump(mode="json").items() if value is not None}
    return "results with " + ", ".join(f"{name} {value}" for name, value in asked.items()) if asked else "all results"
