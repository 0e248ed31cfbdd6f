"""`magistrate ...`: the product from a terminal and from CI.

Exit codes: 0 done, 1 a bank has findings, 2 wrong use or unreadable file, 3 could not be done or the run did not
complete, 130 Ctrl-C.
Heavy imports stay inside the commands, so that `--help` and short runs start fast.
"""

from __future__ import annotations

import json
import sys
from typing import NoReturn

import typer

from engine.cli import banks, calibration, files, running, upkeep
from engine.cli.common import NOT_DONE, WRONG_USE
from engine.cli.ending import Terminated, ending
from engine.errors import BankError, EngineError, InputError, NotFoundError, UnavailableError

app = typer.Typer(
    name="magistrate",
    help="Examine a large language model against 31 safety clauses.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("init-db")(upkeep.init_db)
app.command("migrate")(upkeep.migrate)
app.command("backup")(upkeep.backup)
app.command("serve")(upkeep.serve)
app.command("run")(running.run)
app.command("resume")(running.resume)
app.command("retry-errors")(running.retry_errors)
app.command("judge")(running.judge)
app.command("cancel")(running.cancel)
app.command("runs")(running.list_runs)
app.command("export")(files.export)
app.command("calibrate")(calibration.calibrate)

bank_app = typer.Typer(name="bank", help="Check, bring in and take out question banks.", no_args_is_help=True)
bank_app.command("validate")(banks.validate_bank)
bank_app.command("import")(banks.import_bank)
bank_app.command("list")(banks.list_banks)
bank_app.command("export")(banks.export_bank)
app.add_typer(bank_app)


def main() -> None:
    """Entry point: errors of ours are words and an exit code, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    ending.listen()
    try:
        app()  # usage errors, Ctrl-C and closed pipes are typer's to answer: exit 2, 130 and 1
    except EngineError as error:
        fail(error)
    except Terminated:
        fail(UnavailableError("stopped by SIGTERM; `magistrate resume` goes on with a run", code="terminated"))


def fail(error: EngineError) -> NoReturn:
    if "--json" in sys.argv:
        typer.echo(json.dumps({"event": "error", "code": error.code, "message": error.message}, ensure_ascii=False))
    typer.echo(f"magistrate: {error.message}", err=True)
    if isinstance(error, InputError):
        for where, what in error.fields:
            if what in error.message:
                continue
            typer.echo(f"  {where}: {what}", err=True)
    sys.exit(WRONG_USE if isinstance(error, (InputError, BankError, NotFoundError)) else NOT_DONE)
