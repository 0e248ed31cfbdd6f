"""What came of a run, item by item and as a file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from enum import StrEnum
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, WithJsonSchema
from starlette.concurrency import iterate_in_threadpool

from engine.api.dependencies import EngineDep, ExecutionId, Limit, Offset, RunId, UserDep
from engine.api.problems import GUARDED, documented
from engine.domain.base import Page
from engine.domain.cases import Mode
from engine.domain.clauses import BY_ID
from engine.domain.runs import ExecutionStatus, Result, ResultDetail, ResultFilter
from engine.domain.verdicts import Verdict
from engine.errors import InputError
from engine.services import reports, results

router = APIRouter(
    prefix="/runs/{run_id}", tags=["results"], responses=GUARDED | documented((404, "run_not_found result_not_found"))
)


class VerdictFilter(StrEnum):
    """A verdict, or `none` for results without one."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    NEEDS_HUMAN_REVIEW = "needs_human_review"
    JUDGE_FORMAT_ERROR = "judge_format_error"
    NONE = "none"

    @property
    def wanted(self) -> Verdict | str:
        return "none" if self is VerdictFilter.NONE else Verdict(self.value)


def _known_clause(value: str) -> str:
    if value not in BY_ID:
        raise ValueError(f"no clause {value!r}; known: {', '.join(BY_ID)}")
    return value


Clause = Annotated[str, AfterValidator(_known_clause), WithJsonSchema({"type": "string", "enum": list(BY_ID)})]


def _result_filter(
    execution_status: ExecutionStatus | None = None,
    verdict: VerdictFilter | None = None,
    clause: Clause | None = None,
    mode: Mode | None = None,
    q: str | None = Query(default=None, max_length=200, description="Text to find in what was sent and answered."),
) -> ResultFilter:
    return ResultFilter(
        execution_status=execution_status,
        verdict=verdict.wanted if verdict else None,
        clause=clause,
        mode=mode,
        q=q,
    )


@router.get("/results", summary="List results, in plan order")
def page(
    run_id: RunId,
    where: Annotated[ResultFilter, Depends(_result_filter)],
    engine: EngineDep,
    user: UserDep,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Page[Result]:
    return results.page(engine, run_id, where, actor=user, limit=limit, offset=offset)


@router.get("/results/{execution_id}", summary="One result with its history")
def get(run_id: RunId, execution_id: ExecutionId, engine: EngineDep, user: UserDep) -> ResultDetail:
    return results.get(engine, run_id, execution_id, actor=user)


@router.get(
    "/export",
    summary="Download the detailed report",
    response_class=StreamingResponse,
    responses={
        **documented((409, "run_not_terminal")),
        200: {"content": {"text/markdown": {}}, "description": "The file"},
    },
)
def export(
    run_id: RunId,
    engine: EngineDep,
    user: UserDep,
    execution_status: ExecutionStatus | None = None,
    verdict: VerdictFilter | None = None,
    format: Literal["md"] = "md",
    redacted: bool = False,
) -> StreamingResponse:
    """Markdown: every result with its input, output, judgements and reviews. Only for a run that is over."""
    if redacted:
        # Ignoring the wish would hand out what the caller asked us to hide.
        raise InputError(
            "this server makes unredacted files only; leave `redacted` out",
            code="redaction_unavailable",
            fields=(("query.redacted", "must be false"),),
        )
    where = ResultFilter(execution_status=execution_status, verdict=verdict.wanted if verdict else None)
    file = reports.export(engine, run_id, where, actor=user)
    return StreamingResponse(
        _chunks(file.chunks),
        media_type=file.media_type,
        headers={"Content-Disposition": _attachment(file.file_name)},
    )


async def _chunks(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks, one at a time; a client that goes away ends the reading of the store too."""
    try:
        async for chunk in iterate_in_threadpool(chunks):
            yield chunk
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()


def _attachment(file_name: str) -> str:
    """RFC 6266: a plain name for old clients, and the exact one."""
    plain = "".join(
        letter if letter.isascii() and letter.isprintable() and letter not in '"\\/' else "_" for letter in file_name
    )
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(file_name, safe='')}"
