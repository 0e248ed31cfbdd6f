"""The command that measures a judge against people's labels."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.common import AsJson, endpoint_given, load_settings, wrong_use
from engine.cli.files import content_of

if TYPE_CHECKING:
    from engine.domain.calibration import Agreement
    from engine.domain.chat import ChatModel
    from engine.settings import Settings

JUDGES = ("refusal", "rule", "llm")


def calibrate(
    judge: Annotated[str, typer.Option(help="refusal, rule or llm.")],
    labels: Annotated[list[Path], typer.Option(help="CSV, JSON or JSONL with answers and labels; may be repeated.")],
    text_column: Annotated[str, typer.Option(help="The column with the answer.")],
    label_column: Annotated[str, typer.Option(help="The column with people's label.")],
    positive: Annotated[
        str, typer.Option(metavar="V[,V]", help="Labels that count as positive: a refusal; for rule and llm a fail.")
    ],
    group_column: Annotated[str | None, typer.Option(help="Figures for each value of this column too.")] = None,
    prompt_column: Annotated[str | None, typer.Option(help="The question, for llm.")] = None,
    clause_column: Annotated[str | None, typer.Option(help="The clause, for rule and llm; default A.1.h.")] = None,
    base_url: Annotated[str | None, typer.Option(help="The judge model's endpoint, for llm.")] = None,
    kind: Annotated[str, typer.Option(help="Its kind.")] = "openai",
    model: Annotated[str | None, typer.Option(help="Its model.")] = None,
    api_key_env: Annotated[str | None, typer.Option(metavar="VAR", help="The variable that holds its key.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say how well a judge agrees with people: kappa with its interval, both error rates. Needs no database."""
    from engine.bank import ruleset
    from engine.services import calibration

    if judge not in JUDGES:
        wrong_use(f"--judge: no judge named {judge!r}; known: {', '.join(JUDGES)}")
    settings = load_settings()
    asked: ChatModel | None = None
    if judge == "llm":
        if base_url is None:
            wrong_use("--judge llm needs --base-url and --model of the judge's endpoint")
        asked = _endpoint(settings, base_url, kind, api_key_env, model)
    found = calibration.calibrate(
        calibration.Judge(judge),
        [calibration.SourceFile(path.name, content_of(path)) for path in labels],
        calibration.Columns(text_column, label_column, group_column, prompt_column, clause_column),
        positive=[value.strip() for value in positive.split(",") if value.strip()],
        rules=ruleset.load(settings.rules_file) if judge == "rule" else None,
        model=asked,
        model_name=model or "",
    )
    if as_json:
        typer.echo(found.model_dump_json())
        return
    for name, group in found.groups.items():
        typer.echo(f"{name or '(no group)'}: {_line(group)}")
    typer.echo(f"{'pooled' if found.groups else judge}: {_line(found)}")


def _endpoint(settings: Settings, url: str, kind: str, key_variable: str | None, model: str | None) -> ChatModel:
    from pydantic import SecretStr

    from engine import providers

    key = SecretStr(os.environ[key_variable]) if key_variable is not None and key_variable in os.environ else None
    given = endpoint_given(settings, url, kind, key_variable, model)
    retry = providers.RetryPolicy(
        count=settings.request_retry_count,
        delay_s=settings.request_retry_delay_seconds,
        max_delay_s=settings.request_retry_max_delay_seconds,
    )
    return providers.build(given, api_key=key, retry=retry, allowed_hosts=settings.allowed_hosts)


def _line(found: Agreement) -> str:
    def shown(value: float | None) -> str:
        return "n/a" if value is None else f"{value:.3f}"

    cells = found.confusion
    return (
        f"n {found.n}, kappa {shown(found.kappa)} [{shown(found.kappa_low)}, {shown(found.kappa_high)}], "
        f"accuracy {shown(found.accuracy)}, false positives {shown(found.false_positive_rate)} "
        f"({cells.false_positive} of {cells.false_positive + cells.true_negative}), "
        f"false negatives {shown(found.false_negative_rate)} "
        f"({cells.false_negative} of {cells.false_negative + cells.true_positive}), "
        f"unreadable {found.unreadable}, without text {found.empty}"
    )
