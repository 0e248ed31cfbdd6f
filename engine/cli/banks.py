"""Commands that check, bring in, list and take out question banks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from engine.cli.common import FINDINGS, AsJson, load_settings, opened_engine, wrong_use
from engine.cli.files import content_of, hand_out

UNMAPPED_SHOWN = 20
"""Rows that became no case; a large file has many for the same reason."""


def validate_bank(
    file: Annotated[Path | None, typer.Option(help="The dataset file; default: BANK_FILE.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a bank in files and say what is wrong, where, and what to do; needs no database. Exit 1: findings."""
    from engine.bank import validation

    settings = load_settings()
    counts, findings = validation.validate_file(file or settings.bank_file, rules_file=settings.rules_file)
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
            wrong_use("--map names a field twice")
    sources = [banks.SourceFile(path.name, content_of(path)) for path in files]
    with opened_engine("import", worker=False) as (engine, actor):
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


def list_banks(
    name: Annotated[str | None, typer.Option(help="Versions of this bank only.")] = None,
    as_json: AsJson = False,
    limit: Annotated[int, typer.Option(min=1, max=500)] = 50,
    offset: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """List the versions of all banks, newest first."""
    from engine.services import banks

    with opened_engine("banks", worker=False) as (engine, actor):
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

    with opened_engine("export", worker=False) as (engine, actor):
        hand_out(banks.export(engine, name, file_format, actor=actor, version=version), output)


def _pair(option: str, text: str, *, last: bool = False) -> tuple[str, str]:
    """Both sides of the first `=`, or of the last one."""
    before, sign, after = text.rpartition("=") if last else text.partition("=")
    if not sign or not before or not after:
        wrong_use(f"{option} {text}: write it as {'COLUMN=FIELD' if last else 'FIELD=VALUE'}")
    return before, after
