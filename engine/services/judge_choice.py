"""Which judge model a run gets, and what its report must say about it."""

from __future__ import annotations

from engine.assembly import Engine
from engine.domain.providers import ProviderKind
from engine.domain.runs import EndpointSettings, RunConfig
from engine.errors import ConflictError, NotFoundError
from engine.providers.demo import JUDGE_MODEL as DEMO_JUDGE_MODEL
from engine.services.providers import endpoint_of

SELF_JUDGED = "the model under test judges itself; its verdicts are not independent"
JUDGE_IS_SUBJECT = "the default judge is the model under test, so it was left out; name a judge to have it judge itself"
SAME_NAME = (
    "for the judge: it has the name of the model under test; if both are one model, its verdicts are not independent"
)
"""Begins as every warning about a judge does, so that another judge takes it away."""

Chosen = tuple[EndpointSettings | None, tuple[str, ...]]


def for_run(engine: Engine, subject: EndpointSettings, *, provider_id: int | None, model: str | None) -> Chosen:
    """The judge of a new run: the one that was named, the default judge, for the demo provider its own; else none.

    Raises NotFoundError: no provider `provider_id`.
    """
    named = provider_id is not None or model is not None
    default = engine.stores.providers.default_judge()
    if provider_id is not None:
        judge = endpoint_of(engine, engine.stores.providers.get(provider_id), model)
        if judge.kind == ProviderKind.DEMO and model is None:
            judge = judge.model_copy(update={"model": DEMO_JUDGE_MODEL})
    elif default is not None:
        judge = endpoint_of(engine, default, model)
    elif subject.kind == ProviderKind.DEMO:
        judge = subject.model_copy(update={"model": model or DEMO_JUDGE_MODEL})
    elif model is not None:
        judge = subject.model_copy(update={"model": model})
    else:
        return None, ()
    if not _is_subject(judge, subject):
        return judge, _of_name(judge, subject)
    return (judge, (SELF_JUDGED,)) if named else (None, (JUDGE_IS_SUBJECT,))


def for_judging_again(engine: Engine, config: RunConfig, *, provider_id: int | None, model: str | None) -> Chosen:
    """The judge of stored answers: the one that was named, else the run's own as its provider is set now, else as
    for a new run.

    Raises:
        NotFoundError: no provider `provider_id`.
        ConflictError: `judge_gone`: the provider of the run's judge was deleted and no other was named.
    """
    own = config.judge
    if provider_id is not None or own is None:
        return for_run(engine, config.subject, provider_id=provider_id, model=model)
    wanted = model or own.model
    if own.provider_id is None:
        judge = own.model_copy(update={"model": wanted})
    else:
        try:
            # As it is set now: an address or a limit that was wrong is what one judges again for.
            judge = endpoint_of(engine, engine.stores.providers.get(own.provider_id), wanted)
        except NotFoundError as error:
            raise ConflictError(
                f"the provider {own.name!r} of the run's judge was deleted; name another judge", code="judge_gone"
            ) from error
    if _is_subject(judge, config.subject):
        return judge, (SELF_JUDGED,)
    return judge, _of_name(judge, config.subject)


def _of_name(judge: EndpointSettings, subject: EndpointSettings) -> tuple[str, ...]:
    """One model may be served at two addresses; a name alone proves nothing, so it is said and no more."""
    return (SAME_NAME,) if judge.model.strip().casefold() == subject.model.strip().casefold() else ()


def _is_subject(judge: EndpointSettings, subject: EndpointSettings) -> bool:
    return (judge.base_url, judge.kind, judge.model) == (subject.base_url, subject.kind, subject.model)
