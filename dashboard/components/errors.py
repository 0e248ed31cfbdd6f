"""Errors in words, where they happened."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
import structlog

from dashboard import spoken
from dashboard.components import untrusted
from dashboard.i18n import _
from engine.errors import EngineError, InputError, NotAuthenticated, TooManyAttempts

log = structlog.get_logger(__name__)


def words(error: EngineError) -> str:
    """What happened and what to do, in the reader's language where the code is one we know.

    The message itself is kept behind it: it names the thing.
    """
    known = {
        "forbidden": _("Your role does not allow this."),
        "password_change_required": _("Change the default password first; until then nothing else is allowed."),
        "run_not_found": _("This run does not exist, or not any more."),
        "result_not_found": _("This result does not exist, or not any more."),
        "run_not_terminal": _("The run is still going. Cancel it or wait for its end."),
        "run_terminal": _("The run is already over."),
        "run_not_resumable": _("Only a cancelled, failed or interrupted run can be resumed."),
        "nothing_to_retry": _("No question of this run failed to execute."),
        "judge_gone": _("The provider of this run's judge was deleted. Choose another judge."),
        "stale_review": _("Somebody else has reviewed this meanwhile. Look again before you decide."),
        "provider_in_use": _("A run that is not over uses this provider."),
        "name_taken": _("This name is taken."),
        "unknown_profile": _("This profile does not exist."),
        "bad_base_url": _("The address cannot be used."),
        "wrong_password": _("The current password is wrong."),
        "weak_password": _("The new password is too weak."),
        "storage_full": _("The disk is full. Nothing was lost; free some space and try again."),
        "database_unavailable": _("The database does not answer. Try again in a moment."),
        "engine_locked_elsewhere": _("Another process runs the engine of this database. Start runs there."),
        "engine_stopped": _("The engine has stopped. Restart the server; nothing that was finished is lost."),
        "invalid_bank": _("The question bank or one of its fixture files is broken; nothing was started."),
        "key_required": _("The address was changed, so the stored key is not sent there. Type the key again."),
        "bad_api_key": _("The key holds characters that no key has."),
        "bad_header": _("An extra header cannot be sent."),
        "bad_extra_body": _("The extra body cannot be sent."),
        "bad_ca_file": _("The CA file cannot be used."),
        "bad_proxy": _("The proxy cannot be used."),
        "wrong_secrets_key": _("The stored key cannot be decrypted with the present key file."),
        "no_default_provider": _("Choose a model first."),
        "provider_not_found": _("This provider does not exist, or not any more."),
        "reason_required": _("Pick a reason or write a note first."),
        "nothing_to_review": _("There is no answer to review: the call failed."),
        "unknown_bank": _("This bank does not exist, or not any more."),
        "unknown_version": _("This version does not exist, or not any more."),
        "case_not_found": _("This case does not exist in this version of the bank."),
        "bank_exists": _("The bank holds exactly these questions already; nothing was stored."),
        "version_taken": _("Another content has this version. Choose another one, or leave it empty."),
        "bank_reserved": _("This name belongs to the bank that comes with the product."),
        "bad_bank_name": _("Choose a name of small letters, digits, - and _."),
        "nothing_to_import": _("No case can be made of these files; nothing was stored."),
        "password_too_long": _("The password is too long."),
        "unknown_column": _("The files do not have the same columns."),
        "unknown_clause": _("There is no such clause."),
        "labels_of_one_class": _("Some labels must count as positive and some not, or there is nothing to measure."),
        "too_many_rows": _("These are too many rows for a judge model; every row is a call. Measure on a sample."),
        "endpoint_missing": _("Choose the judge's provider first."),
        "judge_unavailable": _("The judge model could not be reached; nothing was measured."),
    }.get(error.code)
    if isinstance(error, TooManyAttempts):
        known = _("Too many attempts. Try again in {n} s.").format(n=max(1, round(error.retry_after_s)))
    message = untrusted.label(spoken.said(error.message), limit=500)
    parts = [known, message] if known and known != message else [message]
    if isinstance(error, InputError):
        parts += [
            f"{untrusted.label(where.removeprefix('body.'))}: {untrusted.label(spoken.said(what))}"
            for where, what in error.fields
            if what not in error.message  # said already
        ]
    return "  \n".join(parts)


@contextmanager
def shown() -> Iterator[None]:
    """Turns an EngineError of the block into a message at this place; the page goes on with its form still filled."""
    try:
        yield
    except NotAuthenticated:
        st.rerun()
    except EngineError as error:
        st.error(words(error), icon=":material/error:")


def unexpected(error: Exception) -> bool:
    """The last resort for a page: a reference for the log instead of a trace. Returns True: nothing else is drawn."""
    if isinstance(error, EngineError):
        st.error(words(error), icon=":material/error:")
        return True
    reference = uuid.uuid4().hex[:12]
    log.error("page_failed", reference=reference, exc_info=error)
    st.error(
        _("Something went wrong on this page. The log has it under {reference}.").format(reference=reference),
        icon=":material/error:",
    )
    return True
