"""What must outlive the process: one database file and a small store class per subject.

Rows stay inside; stores answer with domain objects, and each call is one short transaction.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.store.agreement_store import AgreementStore
from engine.store.audit_store import AuditEntry, AuditStore
from engine.store.bank_store import BankStore
from engine.store.blob_store import BlobStore
from engine.store.database import Database
from engine.store.group_commit import GroupCommit
from engine.store.idempotency_store import IdempotencyKey, IdempotencyStore, KeyState, KeyStatus
from engine.store.lock import EngineLock
from engine.store.provider_store import ProviderStore
from engine.store.result_store import ResultStore
from engine.store.review_store import ReviewStore
from engine.store.run_store import Reopened, RunStore
from engine.store.session_store import LoginFailures, SessionStore, StoredSession
from engine.store.user_store import UserStore

__all__ = [
    "AgreementStore",
    "AuditEntry",
    "AuditStore",
    "BankStore",
    "BlobStore",
    "Database",
    "EngineLock",
    "GroupCommit",
    "IdempotencyKey",
    "IdempotencyStore",
    "KeyState",
    "KeyStatus",
    "LoginFailures",
    "ProviderStore",
    "Reopened",
    "ResultStore",
    "ReviewStore",
    "RunStore",
    "SessionStore",
    "StoredSession",
    "Stores",
    "UserStore",
]


@dataclass(frozen=True)
class Stores:
    """Every store over one database."""

    runs: RunStore
    results: ResultStore
    reviews: ReviewStore
    providers: ProviderStore
    users: UserStore
    sessions: SessionStore
    audit: AuditStore
    blobs: BlobStore
    idempotency: IdempotencyStore
    banks: BankStore
    agreement: AgreementStore

    @classmethod
    def over(cls, database: Database) -> Stores:
        return cls(
            runs=RunStore(database),
            results=ResultStore(database),
            reviews=ReviewStore(database),
            providers=ProviderStore(database),
            users=UserStore(database),
            sessions=SessionStore(database),
            audit=AuditStore(database),
            blobs=BlobStore(database),
            idempotency=IdempotencyStore(database),
            banks=BankStore(database),
            agreement=AgreementStore(database),
        )
