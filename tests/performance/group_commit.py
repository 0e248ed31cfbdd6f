"""What writing one answer and its verdict durably costs, by how many arrive together."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from engine.domain.verdicts import Verdict
from engine.store import Database, GroupCommit, Stores
from tests.performance.figures import Figure, finish
from tests.store.samples import answer, judgement, make_run

ITEMS = 4096


def main() -> None:
    figures: list[Figure] = []
    for together in (8, 64, 256):
        with tempfile.TemporaryDirectory() as name:
            database = Database(f"sqlite:///{Path(name) / 'platform.db'}")
            database.migrate()
            _run, ids = make_run(Stores.over(database), ITEMS, provider_id=None)
            commit = GroupCommit(database)
            commit.start()
            cpu, wall = time.process_time(), time.monotonic()
            for start in range(0, ITEMS, together):
                wave = ids[start : start + together]
                for write in [commit.answered(each, answer()) for each in wave]:
                    write.result()
                verdict = Verdict.PASS
                for write in [
                    commit.judged(each, 1, verdict=verdict, judgements=[judgement(verdict)]) for each in wave
                ]:
                    write.result()
            cpu, wall = time.process_time() - cpu, time.monotonic() - wall
            commit.stop()
            database.close()
        figures += [
            Figure(f"{together} at a time: CPU an answer with its verdict", cpu / ITEMS * 1000, "ms"),
            Figure("  answers with verdicts a second", ITEMS / wall),
            Figure("  commits for each 1,000", commit.commits / ITEMS * 1000),
        ]
    finish("group commit: synchronous=FULL", figures)


if __name__ == "__main__":
    main()
