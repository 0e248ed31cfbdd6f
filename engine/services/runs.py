"""Start, watch and steer runs."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping

from engine import bank as banks
from engine.assembly import INTERRUPTED_BY_RESTART, Engine
from engine.bank import ruleset
from engine.domain.accounts import Permission, User
from engine.domain.base import Page, utc_now
from engine.domain.providers import Provider, ProviderKind
from engine.domain.runs import (
    EndpointSettings,
    Job,
    JobKind,
    Progress,
    Run,
    RunConfig,
    RunDraft,
    RunSpec,
    RunStatus,
)
from engine.errors import ConflictError, InputError, NotFoundError
from engine.judging import PROMPT_VERSION, prompts
from engine.runs import milestones
from engine.runs.controls import CONTROL_MARKS
from engine.runs.speaking import FOR_THE_JUDGE
from engine.runs.stopping import End
from engine.services import judge_choice, judge_trust, questions
from engine.services.judge_choice import JUDGE_IS_SUBJECT, SELF_JUDGED
from engine.services.providers import endpoint_of, unverified_warnings
from engine.store import IdempotencyKey, Reopened

LONGEST_IDEMPOTENCY_KEY = 255

NOT_HANDED_OVER = "the run was stored but could not be handed to the engine; resume to go on"

SHOWN_SHORTAGES = 3
"""A message names so many; `fields` holds all."""


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
    chosen, warnings = (
        judge_choice.for_run(engine, subject, provider_id=spec.judge_provider_id, model=spec.judge_model)
        if spec.auto_judge and not rules_only
        else (None, ())
    )
    used = {fixture_id for instance in instances for fixture_id in instance.fixture_ids}
    distrusted, distrust_warnings = judge_trust.distrust(engine, chosen)
    audit, audited = judge_trust.audit_plan(engine, spec.seed, instances)
    draft = RunDraft(
        profile=spec.profile,
        bank=bank.name,
        auto_judge=spec.auto_judge,
        provider_id=subject.provider_id,
        provider_name=subject.name,
        simulated=subject.kind == ProviderKind.DEMO,
        model=subject.model,
        judge_model=chosen.model if chosen is not None else None,
        dataset_sha256=bank.sha256,
        seed=spec.seed,
        note=spec.note,
        created_by=actor.username,
        config=RunConfig(
            subject=subject,
            judge=chosen,
            judge_prompt_version=PROMPT_VERSION if chosen is not None else None,
            bank_version=bank.version,
            self_judged=SELF_JUDGED in warnings,
            rules=ruleset.frozen(ruleset.load(engine.settings.rules_file)),
            judge_prompts=prompts.frozen() if chosen is not None else None,
            audit=audit,
            controls=judge_trust.control_set(engine, chosen),
            distrusted_clauses=distrusted,
        ),
        fixtures=tuple(fixture for name, fixture in bank.fixtures.items() if name in used),
        warnings=(*warnings, *unverified_warnings(subject, chosen), *distrust_warnings),
    )
    with engine.starting:
        # One process starts runs, so this lock and the stored key together make one run of many equal requests.
        if key is not None and (known := engine.stores.runs.created_by_key(key)) is not None:
            return known
        run = engine.stores.runs.create(draft, instances=instances, blobs=blobs, audited=audited, idempotency=key)
    milestones.reached(milestones.PLANNED)
    with _put_back(engine, run.id, RunStatus.INTERRUPTED, NOT_HANDED_OVER):
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
    """Runs, newest first; `status` asks for what they are shown with."""
    actor.require(Permission.READ)
    ends = _ends(engine)
    found = engine.stores.runs.page(
        status=status,
        profile=profile,
        provider_id=provider_id,
        ends={run_id: end.status for run_id, end in ends.items()},
        limit=limit,
        offset=offset,
    )
    return Page(items=tuple(_as_it_is(run, ends) for run in found.items), total=found.total)


def get(engine: Engine, run_id: int, *, actor: User) -> Run:
    """Raises NotFoundError `run_not_found`."""
    actor.require(Permission.READ)
    run = engine.stores.runs.get(run_id)
    return run if run.status.is_over else _as_it_is(run, _ends(engine))


def _ends(engine: Engine) -> dict[int | None, End]:
    """How runs ended that nobody works on any more while the store does not say so, by id; under None, all others.

    The store is full, the engine has died, or the process that ran them.
    """
    if engine.worker is not None:
        return engine.worker.unstored_ends()
    return {None: End(RunStatus.INTERRUPTED, INTERRUPTED_BY_RESTART)} if engine.nobody_runs() else {}


def _as_it_is(run: Run, ends: Mapping[int | None, End]) -> Run:
    """As those who look see it: a run that has ended is over."""
    end = None if run.status.is_over else ends.get(run.id, ends.get(None))
    return run if end is None else run.model_copy(update={"status": end.status, "error": end.error, "waiting": None})


def progress(engine: Engine, run_id: int, *, actor: User) -> Progress:
    """Counts from the store, so that every process and tab sees the same; pace from the engine where it runs here."""
    run = get(engine, run_id, actor=actor)
    live = engine.worker.live(run_id) if engine.worker is not None and not run.status.is_over else None
    done = run.completed_count + run.error_count + run.skipped_count
    elapsed_s = None
    if live is not None:
        run = run.model_copy(update={"waiting": live.waiting})  # the store hears of it up to a second later
        elapsed_s = live.elapsed_s  # by a clock that nobody sets
    elif run.started_at is not None:
        elapsed_s = max(0.0, ((run.finished_at or utc_now()) - run.started_at).total_seconds())
    rate = live.rate_per_s if live is not None else None
    if live is not None and live.left is not None:
        done = run.total_count - live.left  # what is asked or judged again is not done until it is done again
    left = run.total_count - done
    return Progress(
        run=run,
        done=done,
        in_flight=live.in_flight if live is not None else None,
        rate_per_s=rate,
        elapsed_s=elapsed_s,
        eta_s=left / rate if rate else None,
    )


def estimate(engine: Engine, *, profile: str, provider_id: int, actor: User, bank: str | None = None) -> float | None:
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
        # Nobody works on it: its process died and no other has taken over yet, or it has just ended by itself.
        try:
            if not engine.stores.runs.get(run_id).status.is_over:
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
    with engine.starting:
        if worker.unstored_end(run_id) is not None:
            worker.store_end(run_id)
        engine.stores.runs.get(run_id)
        _require_provider(engine, run_id)
        if (before := engine.stores.runs.reopen(run_id, resuming=True)) is None:
            status = engine.stores.runs.get(run_id).status
            raise ConflictError(
                f"run {run_id} is {status}; only cancelled, failed and interrupted runs can be resumed",
                code="run_not_resumable",
            )
    with _put_back(engine, run_id, *before):
        engine.record(actor, "run.resume", f"run:{run_id}")
        worker.submit(run_id)
    return engine.stores.runs.get(run_id)


def retry_errors(engine: Engine, run_id: int, *, actor: User) -> Run:
    """Ask every instance whose result is an execution error anew, and no other; earlier attempts are kept.

    Raises:
        ConflictError: `run_not_terminal`; `nothing_to_retry`: the run has no execution error.
    """
    actor.require(Permission.STEER_RUNS)
    worker = engine.require_worker()
    with engine.starting:
        _require_over(engine.stores.runs.get(run_id))
        failed = engine.stores.results.failed(run_id)
        if not failed:
            raise ConflictError(f"run {run_id} has no execution errors to retry", code="nothing_to_retry")
        _require_provider(engine, run_id)
        before = _reopened(engine, run_id)
    with _put_back(engine, run_id, *before):
        engine.record(actor, "run.retry_errors", f"run:{run_id}", results=len(failed))
        worker.submit(run_id, _retry(failed, before))
    return engine.stores.runs.get(run_id)


def retry_one(engine: Engine, run_id: int, execution_id: int, *, actor: User) -> Run:
    """Ask one instance anew, whatever its result is; earlier attempts are kept, with the reviews they got.

    Raises:
        NotFoundError: `run_not_found`; `result_not_found`: the run has no such result.
        ConflictError: `run_not_terminal`.
    """
    actor.require(Permission.STEER_RUNS)
    worker = engine.require_worker()
    with engine.starting:
        run = engine.stores.runs.get(run_id)
        engine.stores.results.require(run_id, execution_id)
        _require_over(run)
        _require_provider(engine, run_id)
        before = _reopened(engine, run_id)
    with _put_back(engine, run_id, *before):
        engine.record(actor, "run.retry_one", f"run:{run_id}", execution_id=execution_id)
        worker.submit(run_id, _retry([execution_id], before))
    return engine.stores.runs.get(run_id)


def judge(
    engine: Engine,
    run_id: int,
    *,
    judge_provider_id: int | None = None,
    judge_model: str | None = None,
    only_missing: bool = False,
    actor: User,
) -> Run:
    """Judge the stored answers again, or with `only_missing` those without a verdict. The model is not called.

    The judge that is named becomes the run's judge; without a name the run's own judges, as its provider is set now.

    Raises:
        NotFoundError: `run_not_found`, or the judge's provider is unknown.
        ConflictError: `run_not_terminal`; `judge_gone`: the judge's provider was deleted.
    """
    actor.require(Permission.STEER_RUNS)
    worker = engine.require_worker()
    with engine.starting:
        run = engine.stores.runs.get(run_id)
        _require_over(run)
        config = engine.stores.runs.config(run_id)
        chosen, warnings = judge_choice.for_judging_again(
            engine, config, provider_id=judge_provider_id, model=judge_model
        )
        before = _reopened(engine, run_id)
    with _put_back(engine, run_id, *before):
        judge_name = chosen.model if chosen is not None else None
        engine.record(actor, "run.judge", f"run:{run_id}", judge_model=judge_name, only_missing=only_missing)
        kept = tuple(text for text in run.warnings if not _is_of_a_judge(text))
        distrusted, distrust_warnings = judge_trust.distrust(engine, chosen)
        if only_missing and run.verdict_counts.none < run.completed_count:
            kept = (*kept, *_second_judge(config.judge, chosen))
        engine.stores.runs.set_judge(
            run_id,
            chosen,
            prompt_version=PROMPT_VERSION,
            prompts=prompts.frozen(),
            self_judged=SELF_JUDGED in warnings,
            controls=judge_trust.control_set(engine, chosen),
            distrusted_clauses=distrusted,
            warnings=tuple(
                dict.fromkeys((*kept, *warnings, *unverified_warnings(config.subject, chosen), *distrust_warnings))
            ),
        )
        job = Job(kind=JobKind.JUDGE, only_missing=only_missing, before=before.status, before_error=before.error)
        worker.submit(run_id, job)
    return engine.stores.runs.get(run_id)


def delete(engine: Engine, run_id: int, *, actor: User) -> None:
    """Results, reviews and report go with it; the audit trail keeps that it was there.

    Raises:
        ConflictError: `run_not_terminal`.
    """
    actor.require(Permission.STEER_RUNS)
    run = engine.stores.runs.get(run_id)
    _require_over(run)
    engine.stores.runs.delete(run_id)
    engine.record(actor, "run.delete", f"run:{run_id}", results=run.completed_count + run.error_count)


def _require_over(run: Run) -> None:
    if not run.status.is_over:
        raise ConflictError(f"run {run.id} is {run.status}; cancel it or let it end first", code="run_not_terminal")


def _require_provider(engine: Engine, run_id: int) -> None:
    """A model can only be asked while its provider, which holds the key, is there; so can a judge."""
    config = engine.stores.runs.config(run_id)
    asked = [(config.subject, "its provider {name!r} was deleted")]
    if config.judge is not None and engine.stores.runs.get(run_id).auto_judge:
        way_out = "the provider {name!r} of its judge was deleted; judge the run by another judge first"
        asked.append((config.judge, way_out))
    for settings, words in asked:
        if settings.provider_id is None:
            continue
        try:
            engine.stores.providers.get(settings.provider_id)
        except NotFoundError as error:
            raise ConflictError(
                f"run {run_id} cannot go on: {words.format(name=settings.name)}", code="run_not_resumable"
            ) from error


def _reopened(engine: Engine, run_id: int) -> Reopened:
    before = engine.stores.runs.reopen(run_id)
    if before is None:
        raise ConflictError(f"run {run_id} is under way; let it end first", code="run_not_terminal")
    return before


def _retry(execution_ids: list[int], before: Reopened) -> Job:
    return Job(kind=JobKind.RETRY, execution_ids=tuple(execution_ids), before=before.status, before_error=before.error)


@contextlib.contextmanager
def _put_back(engine: Engine, run_id: int, status: RunStatus, error: str | None) -> Iterator[None]:
    """A run that could not be handed to the engine must not look as if somebody worked on it."""
    try:
        yield
    except BaseException:  # a signal between storing and handing over included
        engine.stores.runs.set_status(run_id, status, error=error)
        raise


def _second_judge(first: EndpointSettings | None, second: EndpointSettings | None) -> tuple[str, ...]:
    names = [judge.model if judge is not None else "rules alone" for judge in (first, second)]
    return (f"some answers were judged by {names[0]}, the others by {names[1]}",) if names[0] != names[1] else ()


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
    shown = [shortage.words for shortage in short[:SHOWN_SHORTAGES]]
    if len(short) > SHOWN_SHORTAGES:
        shown.append(f"and {len(short) - SHOWN_SHORTAGES} more")
    raise InputError(
        f"bank {bank.name!r} is too small for the formal profile {profile!r}: {'; '.join(shown)}. Add questions, or "
        "choose a profile that is not formal",
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


def _is_of_a_judge(warning: str) -> bool:
    """Whether a warning speaks of the judge a run had, so that another one makes it untrue."""
    marks = (judge_trust.MARK, FOR_THE_JUDGE, *CONTROL_MARKS)
    return warning in (SELF_JUDGED, JUDGE_IS_SUBJECT) or warning.startswith(marks)
