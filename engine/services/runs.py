"""Start, watch and steer runs."""

from __future__ import annotations

import hashlib
import json

from engine import bank as banks
from engine.assembly import Engine
from engine.domain.accounts import Permission, User
from engine.domain.base import Page, utc_now
from engine.domain.providers import Provider, ProviderKind
from engine.domain.runs import (
    EndpointSettings,
    Progress,
    Run,
    RunConfig,
    RunDraft,
    RunSpec,
    RunStatus,
)
from engine.errors import ConflictError, InputError, NotFoundError
from engine.judging import PROMPT_VERSION
from engine.providers.demo import JUDGE_MODEL as DEMO_JUDGE_MODEL
from engine.services import questions
from engine.services.providers import endpoint_of
from engine.store import IdempotencyKey

LONGEST_IDEMPOTENCY_KEY = 255

SHOWN_SHORTAGES = 3
"""A message names so many; `fields` holds all."""

SELF_JUDGED = "the model under test judges itself; its verdicts are not independent"
JUDGE_IS_SUBJECT = "the default judge is the model under test, so it was left out; name a judge to have it judge itself"


def start(
    engine: Engine,
    spec: RunSpec,
    *,
    actor: User,
    idempotency_key: str | None = None,
    endpoint: EndpointSettings | None = None,
    concurrency: int | None = None,
    rules_only: bool = False,
) -> Run:
    """Freeze a run and queue it; the worker does the rest.

    Args:
        engine: The engine.
        spec: What to evaluate.
        actor: Who asks.
        idempotency_key: Makes a repeated request safe: the same key and spec give the same run again.
        endpoint: An endpoint that is not a configured provider (command line only).
        concurrency: Items in flight, instead of the provider's own limit (command line only).
        rules_only: No judge model even where one is the default: what rules cannot conclude goes to a person.

    Raises:
        PermissionDenied: `actor` may not start runs.
        NotFoundError: the profile, bank or provider is unknown.
        BankError: a case or fixture file is broken; nothing was stored and nothing was called.
        InputError: `idempotency_key_conflict`: the key was used for another spec; `bank_too_small`: the profile is
            formal and the bank falls short of its minima; `fields` lists all that is short.
        UnavailableError: this process has no engine.
    """
    actor.require(Permission.STEER_RUNS)
    worker = engine.require_worker()
    key = _idempotency(idempotency_key, spec, actor, rules_only=rules_only)
    if key is not None and (known := engine.stores.runs.created_by_key(key)) is not None:
        return known
    bank = questions.for_run(engine, spec.bank, spec.profile)
    _require_enough(bank, spec.profile)
    instances = banks.select(bank, spec.profile, seed=spec.seed)
    blobs = banks.read_fixtures(bank, instances)
    provider = None if endpoint is not None else _provider(engine, spec.provider_id)
    subject = endpoint or endpoint_of(engine, _known(provider), spec.model)
    if concurrency is not None:
        subject = subject.model_copy(update={"max_concurrency": concurrency})
    judge, warnings = (None, ()) if rules_only else _judge(engine, spec, subject)
    used = {fixture_id for instance in instances for fixture_id in instance.fixture_ids}
    draft = RunDraft(
        profile=spec.profile,
        bank=bank.name,
        auto_judge=spec.auto_judge,
        provider_id=subject.provider_id,
        provider_name=subject.name,
        simulated=subject.kind == ProviderKind.DEMO,
        model=subject.model,
        judge_model=judge.model if judge is not None else None,
        dataset_sha256=bank.sha256,
        seed=spec.seed,
        note=spec.note,
        created_by=actor.username,
        config=RunConfig(
            subject=subject,
            judge=judge,
            judge_prompt_version=PROMPT_VERSION if judge is not None else None,
            bank_version=bank.version,
            self_judged=SELF_JUDGED in warnings,
        ),
        fixtures=tuple(fixture for name, fixture in bank.fixtures.items() if name in used),
        warnings=warnings,
    )
    with engine.starting:
        # One process starts runs, so this lock and the stored key together make one run of many equal requests.
        if key is not None and (known := engine.stores.runs.created_by_key(key)) is not None:
            return known
        run = engine.stores.runs.create(draft, instances=instances, blobs=blobs, idempotency=key)
    engine.record(actor, "run.start", f"run:{run.id}", profile=spec.profile, model=subject.model)
    worker.submit(run.id)
    return run


def page(
    engine: Engine,
    *,
    actor: User,
    status: RunStatus | None = None,
    profile: str | None = None,
    provider_id: int | None = None,
    limit: int = 50,
    offset: int = 0,
) -> Page[Run]:
    """Runs, newest first."""
    actor.require(Permission.READ)
    return engine.stores.runs.page(status=status, profile=profile, provider_id=provider_id, limit=limit, offset=offset)


def get(engine: Engine, run_id: int, *, actor: User) -> Run:
    """Raises NotFoundError `run_not_found`."""
    actor.require(Permission.READ)
    return engine.stores.runs.get(run_id)


def progress(engine: Engine, run_id: int, *, actor: User) -> Progress:
    """Counts from the store, so that every process and tab sees the same; pace from the engine where it runs here."""
    run = get(engine, run_id, actor=actor)
    live = engine.worker.live(run_id) if engine.worker is not None else None
    done = run.completed_count + run.error_count + run.skipped_count
    elapsed_s = None
    if run.started_at is not None:
        elapsed_s = max(0.0, ((run.finished_at or utc_now()) - run.started_at).total_seconds())
    rate = live.rate_per_s if live is not None else None
    left = run.total_count - done
    return Progress(
        run=run,
        done=done,
        in_flight=live.in_flight if live is not None else None,
        rate_per_s=rate,
        elapsed_s=elapsed_s,
        eta_s=left / rate if rate else None,
    )


def estimate(
    engine: Engine, *, profile: str, provider_id: int, actor: User, bank: str | None = None
) -> float | None:
    """About how many seconds a run would take, by this provider's newest completed run; None when it has none.

    Raises:
        NotFoundError: the profile, bank or provider is unknown.
    """
    actor.require(Permission.READ)
    provider = engine.stores.providers.get(provider_id)
    median_s = engine.stores.results.median_latency_s(provider_id)
    if median_s is None:
        return None
    instances = questions.count(engine, bank, profile)
    paced_s = 60 * instances / provider.requests_per_minute if provider.requests_per_minute else 0.0
    return max(median_s * instances / provider.max_concurrency, paced_s)


def cancel(engine: Engine, run_id: int, *, actor: User) -> Run:
    """Ask a run to end; what is finished stays. Obeyed within a second, wherever the run is executed.

    Raises:
        ConflictError: `run_terminal`.
    """
    actor.require(Permission.STEER_RUNS)
    run = engine.stores.runs.get(run_id)
    if run.status.is_over:
        raise ConflictError(f"run {run_id} is {run.status} already", code="run_terminal")
    engine.record(actor, "run.cancel", f"run:{run_id}")
    engine.stores.runs.request_cancel(run_id)
    if engine.worker is not None:
        engine.worker.cancel(run_id)
    elif engine.try_lock():
        # Nobody works on it: its process died and no other has taken over yet.
        try:
            engine.stores.runs.set_status(run_id, RunStatus.CANCELLED)
        finally:
            engine.unlock()
    return engine.stores.runs.get(run_id)


def resume(engine: Engine, run_id: int, *, actor: User) -> Run:
    """Go on with a run that ended early: only what has no stored answer is asked, only what lacks a verdict is judged.

    Raises:
        ConflictError: `run_not_resumable`.
    """
    actor.require(Permission.STEER_RUNS)
    worker = engine.require_worker()
    engine.stores.runs.get(run_id)
    subject = engine.stores.runs.config(run_id).subject
    if subject.provider_id is not None:
        try:
            engine.stores.providers.get(subject.provider_id)
        except NotFoundError as error:
            raise ConflictError(
                f"run {run_id} cannot go on: its provider {subject.name!r} was deleted", code="run_not_resumable"
            ) from error
    if not engine.stores.runs.reopen(run_id):
        status = engine.stores.runs.get(run_id).status
        raise ConflictError(
            f"run {run_id} is {status}; only cancelled, failed and interrupted runs can be resumed",
            code="run_not_resumable",
        )
    engine.record(actor, "run.resume", f"run:{run_id}")
    worker.submit(run_id)
    return engine.stores.runs.get(run_id)


def delete(engine: Engine, run_id: int, *, actor: User) -> None:
    """Results, reviews and report go with it; the audit trail keeps that it was there.

    Raises:
        ConflictError: `run_not_terminal`.
    """
    actor.require(Permission.STEER_RUNS)
    run = engine.stores.runs.get(run_id)
    if not run.status.is_over:
        raise ConflictError(f"run {run_id} is {run.status}; cancel it first", code="run_not_terminal")
    engine.stores.runs.delete(run_id)
    engine.record(actor, "run.delete", f"run:{run_id}", results=run.completed_count + run.error_count)


def _idempotency(key: str | None, spec: RunSpec, actor: User, *, rules_only: bool) -> IdempotencyKey | None:
    if key is None:
        return None
    if not key.strip() or len(key) > LONGEST_IDEMPOTENCY_KEY or not key.isascii() or not key.isprintable():
        raise InputError(
            f"Idempotency-Key must be 1 to {LONGEST_IDEMPOTENCY_KEY} printable ASCII characters",
            code="bad_idempotency_key",
            bad_request=True,
        )
    asked = spec.model_dump(mode="json") | ({"rules_only": True} if rules_only else {})
    body = json.dumps(asked, sort_keys=True)
    return IdempotencyKey(user_id=actor.id, key=key, body_hash=hashlib.sha256(body.encode()).hexdigest())


def _require_enough(bank: banks.Bank, profile: str) -> None:
    """A formal profile's result would pass for evidence, so a bank that is too small for it is not asked at all."""
    short = banks.shortages(bank, profile)
    if not short or not bank.profiles[profile].formal:
        return
    shown = "; ".join(shortage.words for shortage in short[:SHOWN_SHORTAGES])
    more = f"; and {len(short) - SHOWN_SHORTAGES} more" if len(short) > SHOWN_SHORTAGES else ""
    raise InputError(
        f"bank {bank.name!r} is too small for the formal profile {profile!r}: {shown}{more}. Add questions, or choose "
        "a profile that is not formal",
        code="bank_too_small",
        fields=tuple((f"minima.{shortage.key}", shortage.words) for shortage in short),
    )


def _provider(engine: Engine, provider_id: int | None) -> Provider:
    if provider_id is not None:
        return engine.stores.providers.get(provider_id)
    provider = engine.stores.providers.default()
    if provider is None:
        raise InputError("no provider was named and none is the default; choose one", code="no_default_provider")
    return provider


def _known(provider: Provider | None) -> Provider:
    if provider is None:
        raise InputError("neither a provider nor an endpoint was given", code="no_default_provider")
    return provider


def _judge(engine: Engine, spec: RunSpec, subject: EndpointSettings) -> tuple[EndpointSettings | None, tuple[str, ...]]:
    """The judge model and what the report must say about it.

    Order: the judge that was named, the default judge, for the demo provider its own judge; else none.
    """
    if not spec.auto_judge:
        return None, ()
    named = spec.judge_provider_id is not None or spec.judge_model is not None
    default = engine.stores.providers.default_judge()
    if spec.judge_provider_id is not None:
        judge = endpoint_of(engine, engine.stores.providers.get(spec.judge_provider_id), spec.judge_model)
        if judge.kind == ProviderKind.DEMO and spec.judge_model is None:
            judge = judge.model_copy(update={"model": DEMO_JUDGE_MODEL})
    elif default is not None:
        judge = endpoint_of(engine, default, spec.judge_model)
    elif subject.kind == ProviderKind.DEMO:
        judge = subject.model_copy(update={"model": spec.judge_model or DEMO_JUDGE_MODEL})
    elif spec.judge_model is not None:
        judge = subject.model_copy(update={"model": spec.judge_model})
    else:
        return None, ()
    if (judge.base_url, judge.kind, judge.model) != (subject.base_url, subject.kind, subject.model):
        return judge, ()
    return (judge, (SELF_JUDGED,)) if named else (None, (JUDGE_IS_SUBJECT,))
