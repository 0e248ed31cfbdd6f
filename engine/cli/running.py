"""Commands that start, steer and list runs."""

from __future__ import annotations

from typing import Annotated

import typer

from engine.cli.common import AsJson, RunId, endpoint_given, opened_engine, provider_named, wrong_use
from engine.cli.watching import line_of, watch


def run(
    profile: Annotated[str, typer.Option(help="A named selection of instances, such as smoke or full.")],
    provider: Annotated[str | None, typer.Option(help="A configured provider, by name.")] = None,
    base_url: Annotated[str | None, typer.Option(help="An endpoint that is not configured.")] = None,
    kind: Annotated[str, typer.Option(help="Its kind.")] = "openai",
    api_key_env: Annotated[str | None, typer.Option(help="Variable that holds its key; the key is not stored.")] = None,
    model: Annotated[str | None, typer.Option(help="The model to examine.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Items in flight.", min=1, max=512)] = None,
    bank: Annotated[str | None, typer.Option(help="A bank, by name; default: the bundled one.")] = None,
    auto_judge: Annotated[bool, typer.Option(help="Judge the answers.")] = True,
    judge_provider: Annotated[str | None, typer.Option(help="The judge's provider, by name.")] = None,
    judge_model: Annotated[str | None, typer.Option(help="The judge's model.")] = None,
    seed: Annotated[int | None, typer.Option(help="For profiles that draw a sample.")] = None,
    as_json: AsJson = False,
) -> None:
    """Examine a model: start a run and stay until it is over. Ctrl-C interrupts it; `resume` goes on."""
    from engine.domain.runs import RunSpec
    from engine.services import runs

    if (provider is None) == (base_url is None) and base_url is not None:
        wrong_use("give --provider or --base-url, not both")
    with opened_engine("run", worker=True) as (engine, actor):
        endpoint = (
            endpoint_given(engine.settings, base_url, kind, api_key_env, model, concurrency)
            if base_url is not None
            else None
        )
        spec = RunSpec(
            profile=profile,
            auto_judge=auto_judge,
            bank=bank,
            provider_id=provider_named(engine, provider).id if provider is not None else None,
            model=model,
            judge_provider_id=provider_named(engine, judge_provider).id if judge_provider is not None else None,
            judge_model=judge_model,
            seed=seed,
        )
        started = runs.start(engine, spec, actor=actor, endpoint=endpoint, concurrency=concurrency)
        watch(engine, started.id, as_json=as_json)


def resume(run_id: RunId, as_json: AsJson = False) -> None:
    """Go on with a run that ended early; nothing that was answered is asked again."""
    from engine.services import runs

    with opened_engine("resume", worker=True) as (engine, actor):
        runs.resume(engine, run_id, actor=actor)
        watch(engine, run_id, as_json=as_json)


def retry_errors(run_id: RunId, as_json: AsJson = False) -> None:
    """Ask again what failed to execute, and nothing else; earlier attempts are kept."""
    from engine.services import runs

    with opened_engine("retry-errors", worker=True) as (engine, actor):
        runs.retry_errors(engine, run_id, actor=actor)
        watch(engine, run_id, as_json=as_json)


def judge(
    run_id: RunId,
    judge_provider: Annotated[str | None, typer.Option(help="Another judge's provider, by name.")] = None,
    judge_model: Annotated[str | None, typer.Option(help="Another judge's model.")] = None,
    only_missing: Annotated[bool, typer.Option("--only-missing", help="Verdicts that are there stay.")] = False,
    as_json: AsJson = False,
) -> None:
    """Judge the stored answers again; the model under test is not called."""
    from engine.services import runs

    with opened_engine("judge", worker=True) as (engine, actor):
        runs.judge(
            engine,
            run_id,
            judge_provider_id=provider_named(engine, judge_provider).id if judge_provider is not None else None,
            judge_model=judge_model,
            only_missing=only_missing,
            actor=actor,
        )
        watch(engine, run_id, as_json=as_json)


def cancel(run_id: RunId) -> None:
    """Ask a run to end, wherever it is executed; what is finished stays."""
    from engine.services import runs

    with opened_engine("cancel", worker=False) as (engine, actor):
        now = runs.cancel(engine, run_id, actor=actor)
        typer.echo(f"run {run_id} is cancelled" if now.status.is_over else f"run {run_id} was asked to end")


def list_runs(
    as_json: AsJson = False,
    limit: Annotated[int, typer.Option(min=1, max=500)] = 50,
    offset: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """List runs, newest first."""
    from engine.services import runs

    with opened_engine("runs", worker=False) as (engine, actor):
        page = runs.page(engine, actor=actor, limit=limit, offset=offset)
    if as_json:
        typer.echo(page.model_dump_json())
        return
    for each in page.items:
        typer.echo(line_of(each))
    typer.echo(f"{len(page.items)} of {page.total} runs")
