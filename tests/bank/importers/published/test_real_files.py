"""The published files themselves, where a copy is at hand. They are not part of this repository."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from pathlib import Path

import pytest
from published_material import read

from engine.bank.importers import base
from engine.domain.cases import Mode

REPOSITORY = Path(__file__).resolve().parents[4]


def shared(path: str) -> base.SourceFile:
    """A file of the folder that MAGISTRATE_SHARED_DATA names, or of `shared/data` beside the repository."""
    folder = Path(os.environ.get("MAGISTRATE_SHARED_DATA") or REPOSITORY.parent / "shared" / "data")
    file = folder / path
    if not file.is_file():
        pytest.skip(f"no copy of {path}")
    return base.SourceFile(file.name, file.read_bytes())


def test_the_published_xstest_prompts_all_become_cases():
    imported = read("xstest", shared("xstest/xstest_prompts.csv"))
    assert (len(imported.cases), imported.unmapped) == (450, ())
    assert Counter(case.mode for case in imported.cases) == {Mode.OC: 250, Mode.RF: 175, Mode.SINGLE: 25}
    assert len({case.clause for case in imported.cases if case.mode is Mode.RF}) == 9


def test_the_published_chinese_subset_of_safetybench_all_becomes_multiple_choice():
    imported = read("safetybench", shared("safetybench_zh_subset/test_zh_subset.jsonl"))
    assert (len(imported.cases), imported.unmapped) == (2100, ())
    assert Counter(case.clause for case in imported.cases) == {"A.2.i": 600, "A.4.a": 600, "A.1.h": 600, "A.4.e": 300}
    assert {len(case.choice.options) for case in imported.cases} == {2, 3, 4}
    assert {case.language for case in imported.cases} == {"zh-CN"}


def test_the_published_refusal_set_is_read_and_each_objective_counted_once():
    pyrit = pytest.importorskip("engine.bank.importers.pyrit")
    file = shared("pyrit_refusal/refusal.csv")
    rows = list(csv.DictReader(io.StringIO(file.content.decode("utf-8-sig"))))
    assert len(rows) == 105
    assert pyrit.read([file]).read == len({row["objective"] for row in rows})
