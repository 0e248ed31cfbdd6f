"""`magistrate ...`: the product from a terminal and from CI.

Exit codes: 0 done, 1 a bank has findings, 2 wrong use or unreadable file, 3 could not be done or the run did not
complete, 130 Ctrl-C.
Heavy imports stay inside the commands, so that `--help` and short runs start fast.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from engine.errors import BankError, EngineError, InputError, NotFoundError, UnavailableError

if TYPE_CHECKING:
    from engine.assembly import Engine
    from engine.domain.providers import Provider
    from engine.domain.runs import EndpointSettings, Progress, ResultFilter, Run
    from engine.services.reports import Export
    from engine.settings import Settings

DONE, FINDINGS, WRONG_USE, NOT_DONE, INTERRUPTED = 0, 1, 2, 3, 130

PROGRESS_EVERY_S = 0.5

UNMAPPED_SHOWN = 20
"""Rows that became no case; a large file has many for the same reason."""

app = typer.Typer(
    name="magistrate",
    help="Examine a large language model against 31 safety clauses.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

bank_app = typer.Typer(name="bank", help="Check, bring in and take out question banks.", no_args_is_help=True)
app.add_typer(bank_app)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
RunId = Annotated[int, typer.Argument(metavar="RUN", help="The run's number.")]


@app.command("init-db")
def init_db() -> None:
    """Create or upgrade the database; in a new one make the first account and the demo provider."""
    from engine.services import installation

    settings = _settings()
    prepared = installation.prepare(settings)
    _say_prepared(prepared)


@app.command()
def migrate(down: Annotated[int, typer.Option(help="Go back so many steps instead.", min=0)] = 0) -> None:
    """Bring the database's schema up to this release; creates no account."""
    from engine.services import installation

    facts = installation.migrate(_settings(), down=down)
    typer.echo("database: " + _facts(facts))


@app.command()
def backup(file: Annotated[Path, typer.Argument(help="Where the copy goes.")]) -> None:
    """Copy the database, also while the server runs. The key file beside it is not copied."""
    from engine.services import installation

    installation.backup(_settings(), file)
    typer.echo(f"backed up to {file}")


@app.command()
def serve() -> None:
    """Set everything up and serve dashboard, API and engine on one address (HOST, PORT)."""
    from engine.services import installation

    env_file = Path(".env")
    if "AUTH_TOKEN_SECRET" not in os.environ and installation.write_env_file(env_file):
        typer.echo(f"wrote {env_file} with APP_ENV=test and a random AUTH_TOKEN_SECRET (readable by you only)")
    settings = _settings()
    prepared = installation.prepare(settings)
    _say_prepared(prepared)
    installation.require_address(settings, default_password=prepared.default_password)
    typer.echo("")
    typer.echo(f"  Magistrate: http://{_shown_host(settings.host)}:{settings.port}")
    if prepared.default_password:
        typer.echo("  first sign-in: gly / maxta2026 (change it under Account)")
    if prepared.engine_holder:
        typer.echo(f"  without an engine: {prepared.engine_holder} runs it; start and steer runs there")
    typer.echo("  stop with Ctrl-C")
    typer.echo("")
    sys.stdout.flush()
    command = installation.server_command(settings)
    os.execv(command[0], command)  # noqa: S606 - our own interpreter, no shell


@app.command()
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
        _wrong_use("give --provider or --base-url, not both")
    with _engine("run", worker=True) as (engine, actor):
        endpoint = _endpoint(engine, base_url, kind, api_key_env, model, concurrency) if base_url is not None else None
        spec = RunSpec(
            profile=profile,
            auto_judge=auto_judge,
            bank=bank,
            provider_id=_provider(engine, provider).id if provider is not None else None,
            model=model,
            judge_provider_id=_provider(engine, judge_provider).id if judge_provider is not None else None,
            judge_model=judge_model,
            seed=seed,
        )
        started = runs.start(engine, spec, actor=actor, endpoint=endpoint, concurrency=concurrency)
        _watch(engine, started.id, as_json=as_json)


@app.command()
def resume(run_id: RunId, as_json: AsJson = False) -> None:
    """Go on with a run that ended early; nothing that was answered is asked again."""
    from engine.services import runs

    with _engine("resume", worker=True) as (engine, actor):
        runs.resume(engine, run_id, actor=actor)
        _watch(engine, run_id, as_json=as_json)


@app.command()
def cancel(run_id: RunId) -> None:
    """Ask a run to end, wherever it is executed; what is finished stays."""
    from engine.services import runs

    with _engine("cancel", worker=False) as (engine, actor):
        now = runs.cancel(engine, run_id, actor=actor)
        typer.echo(f"run {run_id} is cancelled" if now.status.is_over else f"run {run_id} was asked to end")


@app.command("runs")
def list_runs(
    as_json: AsJson = False,
    limit: Annotated[int, typer.Option(min=1, max=500)] = 50,
    offset: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """List runs, newest first."""
    from engine.services import runs

    with _engine("runs", worker=False) as (engine, actor):
        page = runs.page(engine, actor=actor, limit=limit, offset=offset)
    if as_json:
        typer.echo(page.model_dump_json())
        return
    for each in page.items:
        typer.echo(_line(each))
    typer.echo(f"{len(page.items)} of {page.total} runs")


@app.command()
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
        _wrong_use(f"no format {file_format!r} in this release; known: md")
    where = _filter(execution_status, verdict)
    with _engine("export", worker=False) as (engine, actor):
        _hand_out(reports.export(engine, run_id, where, actor=actor), output)


@bank_app.command("validate")
def validate_bank(
    file: Annotated[Path | None, typer.Option(help="The dataset file; default: BANK_FILE.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a bank in files and say what is wrong, where, and what to do; needs no database. Exit 1: findings."""
    from engine.bank import validation

    counts, findings = validation.validate_file(file or _settings().bank_file)
    held = {"instances": counts.instances, "cases": counts.cases, "clauses": counts.clauses, "modes": counts.modes}
    if as_json:
        told = [finding.model_dump(mode="json") for finding in findings]
        typer.echo(json.dumps({**held, "findings": told}, ensure_ascii=False))
    else:
        for finding in findings:
            place = ", ".join(part for part in (finding.file, finding.case, finding.key) if part)
            typer.echo(f"{place}: {finding.problem}; {finding.fix}" if finding.fix else f"{place}: {finding.problem}")
        typer.echo(", ".join(f"{number} {what}" for what, number in held.items()) + f"; {len(findings)} findings")
    if findings:
        raise typer.Exit(FINDINGS)


@bank_app.command("import")
def import_bank(
    file_format: Annotated[str, typer.Argument(metavar="FORMAT", help="csv, xlsx, jsonl, or a published set's.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The files; all of them make one bank.")],
    name: Annotated[str, typer.Option(help="The bank; a known name gets a new version.")],
    version: Annotated[str | None, typer.Option(help="Default: the next number.")] = None,
    maps: Annotated[
        list[str] | None, typer.Option("--map", metavar="COLUMN=FIELD", help="A column of the file is a field of ours.")
    ] = None,
    defaults: Annotated[
        list[str] | None, typer.Option("--default", metavar="FIELD=VALUE", help="Where the file has none.")
    ] = None,
    ignored: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="COLUMN", help="A column that is left out.")
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Say what would be done; store nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a bank of files of another form: all of it or nothing. What became no case is listed with the reason."""
    from engine.services import banks

    mapping = None
    if maps or defaults or ignored:
        pairs = [_pair("--map", each, last=True) for each in maps or ()]
        mapping = banks.ColumnMapping(
            columns={field: column for column, field in pairs},
            defaults=dict(_pair("--default", each) for each in defaults or ()),
            ignored=tuple(ignored or ()),
        )
        if len(mapping.columns) < len(pairs):
            _wrong_use("--map names a field twice")
    sources = [banks.SourceFile(path.name, _content(path)) for path in files]
    with _engine("import", worker=False) as (engine, actor):
        if dry_run:
            report = banks.preview(engine, file_format, sources, mapping, actor=actor, name=name)
        else:
            report = banks.import_files(
                engine, file_format, sources, name=name, version=version, mapping=mapping, actor=actor
            )
    if as_json:
        typer.echo(report.model_dump_json())
        return
    for rule, count in report.mapping_counts.items():
        typer.echo(f"  {count:>7}  {rule}")
    for left in report.unmapped[:UNMAPPED_SHOWN]:
        typer.echo(f"  not imported: {left.file}, line {left.line}, {left.label!r}: {left.reason}")
    if len(report.unmapped) > UNMAPPED_SHOWN:
        typer.echo(f"  not imported: {len(report.unmapped) - UNMAPPED_SHOWN} more; --json lists all")
    done = "would be imported" if dry_run else f"imported as {report.bank} {report.version}"
    typer.echo(f"{report.imported} of {report.read} questions {done}")


@bank_app.command("list")
def list_banks(
    name: Annotated[str | None, typer.Option(help="Versions of this bank only.")] = None,
    as_json: AsJson = False,
    limit: Annotated[int, typer.Option(min=1, max=500)] = 50,
    offset: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """List the versions of all banks, newest first."""
    from engine.services import banks

    with _engine("banks", worker=False) as (engine, actor):
        page = banks.page(engine, actor=actor, name=name, limit=limit, offset=offset)
    if as_json:
        typer.echo(page.model_dump_json())
        return
    for each in page.items:
        typer.echo(
            f"{each.name} {each.version}  {each.instances} instances of {each.cases} cases, {each.source}, "
            f"{each.created_at:%Y-%m-%d} by {each.created_by}, sha256 {each.sha256}"
        )
    typer.echo(f"{len(page.items)} of {page.total} versions")


@bank_app.command("export")
def export_bank(
    file_format: Annotated[str, typer.Option("--format", help="jsonl (read back as it was), inspect or promptfoo.")],
    name: Annotated[str, typer.Option(help="The bank.")] = "regression",
    version: Annotated[str | None, typer.Option(help="Its version or SHA-256; default: the newest.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", help="Default: outputs/<bank>-<version>...; - for stdout.")
    ] = None,
) -> None:
    """Write a bank as a file for another installation or another tool."""
    from engine.services import banks

    with _engine("export", worker=False) as (engine, actor):
        _hand_out(banks.export(engine, name, file_format, actor=actor, version=version), output)


def main() -> None:
    """Entry point: errors of ours are words and an exit code, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    signal.signal(signal.SIGTERM, _terminate)
    try:
        app()  # usage errors, Ctrl-C and closed pipes are typer's to answer: exit 2, 130 and 1
    except EngineError as error:
        _fail(error)


def _terminate(_signal: int, _frame: object) -> NoReturn:
    raise UnavailableError("stopped by SIGTERM; `magistrate resume` goes on", code="terminated")


def _fail(error: EngineError) -> NoReturn:
    if "--json" in sys.argv:
        typer.echo(json.dumps({"event": "error", "code": error.code, "message": error.message}, ensure_ascii=False))
    typer.echo(f"magistrate: {error.message}", err=True)
    if isinstance(error, InputError):
        for where, what in error.fields:
            if what in error.message:
                continue
            typer.echo(f"  {where}: {what}", err=True)
    sys.exit(WRONG_USE if isinstance(error, (InputError, BankError, NotFoundError)) else NOT_DONE)


def _wrong_use(message: str) -> NoReturn:
    raise InputError(message, code="wrong_use")


def _settings() -> Settings:
    from engine import settings
    from engine.assembly import configure_logging

    loaded = settings.load()
    configure_logging(loaded)
    return loaded


@contextlib.contextmanager
def _engine(name: str, *, worker: bool) -> Iterator[tuple[Engine, Any]]:
    from engine.assembly import command_line_user, open_engine

    engine = open_engine(_settings(), run_worker=worker, name=name)
    try:
        if worker:
            engine.require_worker()
        yield engine, command_line_user()
    finally:
        engine.close()


def _provider(engine: Engine, name: str) -> Provider:
    from engine.assembly import command_line_user
    from engine.services import providers

    return providers.by_name(engine, name, actor=command_line_user())


def _endpoint(
    engine: Engine, url: str, kind: str, key_variable: str | None, model: str | None, concurrency: int | None
) -> EndpointSettings:
    from urllib.parse import urlsplit

    from engine import providers
    from engine.domain.runs import EndpointSettings

    if kind not in providers.PROVIDERS:
        _wrong_use(f"no kind of provider named {kind!r}; known: {', '.join(sorted(providers.PROVIDERS))}")
    if model is None:
        _wrong_use("--base-url needs --model, the name of the model to examine")
    if key_variable is not None and key_variable not in os.environ:
        _wrong_use(f"--api-key-env: the environment variable {key_variable} is not set")
    address = providers.check_base_url(url, engine.settings.allowed_hosts)
    return EndpointSettings(
        provider_id=None,
        name=urlsplit(address).netloc,
        kind=kind,
        base_url=address,
        model=model,
        max_concurrency=concurrency or 8,
        timeout_s=engine.settings.request_timeout_seconds,
        api_key_env=key_variable,
    )


def _filter(execution_status: str | None, verdict: str | None) -> ResultFilter:
    from engine.domain.runs import ExecutionStatus, ResultFilter
    from engine.domain.verdicts import Verdict

    statuses = [status.value for status in ExecutionStatus]
    verdicts = [*(each.value for each in Verdict), "none"]
    if execution_status is not None and execution_status not in statuses:
        _wrong_use(f"--execution-status: no {execution_status!r}; known: {', '.join(statuses)}")
    if verdict is not None and verdict not in verdicts:
        _wrong_use(f"--verdict: no {verdict!r}; known: {', '.join(verdicts)}")
    return ResultFilter(
        execution_status=ExecutionStatus(execution_status) if execution_status is not None else None, verdict=verdict
    )


def _watch(engine: Engine, run_id: int, *, as_json: bool) -> None:
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
        typer.echo(_line(now.run))
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


def _line(run: Run) -> str:
    counts = run.verdict_counts
    simulated = " (simulated)" if run.simulated else ""
    return (
        f"run {run.id}  {run.status}  {run.model}{simulated} on {run.profile}: "
        f"{run.completed_count} answered, {run.error_count} errors, {run.skipped_count} skipped of {run.total_count}; "
        f"{counts.passed} pass, {counts.fail} fail, {counts.needs_human_review} to review, "
        f"{counts.judge_format_error} judge unreadable, {counts.none} no verdict"
    )


def _pair(option: str, text: str, *, last: bool = False) -> tuple[str, str]:
    """Both sides of the first `=`, or of the last one."""
    before, sign, after = text.rpartition("=") if last else text.partition("=")
    if not sign or not before or not after:
        _wrong_use(f"{option} {text}: write it as {'COLUMN=FIELD' if last else 'FIELD=VALUE'}")
    return before, after


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", code="bad_file") from error


def _hand_out(made: Export, output: Path | None) -> None:
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


def _say_prepared(prepared: Any) -> None:
    typer.echo("database: " + _facts(prepared.facts))
    if prepared.admin_created:
        typer.echo("created the administrator gly and the demo provider")
    for warning in prepared.warnings:
        typer.echo(f"warning: {warning}", err=True)


def _facts(facts: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def _shown_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


if __name__ == "__main__":
    main()
