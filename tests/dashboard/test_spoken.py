"""What the engine says reaches a Chinese reader in Chinese, and every sentence that a page may show has its Chinese."""

from __future__ import annotations

import re
import string
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard import i18n, remarks, spoken
from dashboard.components import result_detail
from dashboard.locale import sentences
from engine import assembly, bank
from engine.bank import importers
from engine.domain.verdicts import JudgeKind, Judgement
from engine.errors import EngineError
from engine.providers import addresses, network
from engine.providers import faults as provider_faults
from engine.runs import worker
from engine.services import banks, judge_choice, providers

WHERE = "the endpoint e-1 (http://127.0.0.1:9/v1)"


@pytest.fixture
def speaks(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def choose(language: str) -> None:
        monkeypatch.setattr(i18n, "language", lambda: language)

    return choose


@pytest.fixture(autouse=True)
def _in_chinese(speaks: Callable[[str], None]) -> None:
    speaks("zh")


def gaps(text: str) -> set[str]:
    return {name for _literal, name, _spec, _conversion in string.Formatter().parse(text) if name is not None}


def test_every_sentence_that_a_page_may_show_has_its_chinese() -> None:
    held = {str(message.id): str(message.string) for message in sentences.read() if message.id}
    lacking = {pattern: where for pattern, where in sentences.needed().items() if not held.get(pattern)}
    assert lacking == {}, "run `make messages` and translate what is empty in engine.po"


def test_the_modules_that_are_looked_at_exist() -> None:
    assert {name for name in sentences.QUIET if not (sentences.ENGINE / name).is_file()} == set()
    assert [glob for glob in sentences.SPEAKERS if not list(sentences.ENGINE.glob(glob))] == []


def test_the_chinese_fills_only_gaps_that_there_are() -> None:
    for message in sentences.read():
        if message.id:
            assert gaps(str(message.string)) <= gaps(str(message.id)), message.id


def english(text: str, *allowed: str) -> list[str]:
    """English words in a text, but for names that are the same in every language."""
    for name in allowed:
        text = text.replace(name, "")
    return re.findall(r"[A-Za-z]{3,}", text)


FAULTS = [
    *(provider_faults.from_status(n, {}, b"", where=WHERE, secrets=provider_faults.Secrets()) for n in (302, 401, 404)),
    *(provider_faults.from_status(n, {}, b"", where=WHERE, secrets=provider_faults.Secrets()) for n in (408, 429, 500)),
    provider_faults.timed_out(5, where=WHERE),
    provider_faults.not_reached(where=WHERE),
    provider_faults.malformed("something that is not JSON", where=WHERE),
    provider_faults.from_exception(ConnectionResetError(), where=WHERE),
]


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: error.message)
def test_why_a_call_failed_and_why_a_run_ended_is_said_in_chinese(error: provider_faults.ProviderError) -> None:
    names = ("e-1 (http://127.0.0.1:9/v1)", "JSON", "chat completions")
    for text in (error.message, error.hint, f"{error.message}. {error.hint}", f"{error.message}: {error.message}"):
        assert english(spoken.said(text), *names) == []
    after = spoken.said(f"{error.message}; given up after 30 s, resume to go on")
    assert english(after, *names) == []
    assert "30 秒" in after


def test_the_providers_own_words_stay_as_they_are() -> None:
    body = b'{"error": {"message": "Incorrect key: it is old. See the portal: here"}}'
    error = provider_faults.from_status(401, {}, body, where=WHERE, secrets=provider_faults.Secrets())
    said = spoken.said(f"{error.message}. {error.hint}")
    assert "拒绝了密钥（401）：Incorrect key: it is old. See the portal: here。请检查密钥" in said


@pytest.mark.parametrize(
    "text",
    [
        worker.STOPPED,
        worker.DIED,
        assembly.INTERRUPTED_BY_RESTART,
        judge_choice.SELF_JUDGED,
        judge_choice.JUDGE_IS_SUBJECT,
        providers.SUBJECT_UNVERIFIED,
        providers.JUDGE_UNVERIFIED,
    ],
)
def test_what_a_run_remarks_is_a_whole_sentence_in_either_language(text: str, speaks: Callable[[str], None]) -> None:
    assert english(remarks.of(text)) == []
    assert remarks.of(text).endswith("。")
    speaks("en")
    plain = spoken.sentence(text)
    assert plain.lower() == f"{text}.".lower()
    assert plain[0].isupper()


def broken_bank(folder: Path) -> None:
    (folder / "dataset.json").write_text('{"name": "b", "cases": 5}', encoding="utf-8")
    bank.load(folder / "dataset.json")


def unreadable_bank(folder: Path) -> None:
    (folder / "dataset.json").write_text('{"name": ', encoding="utf-8")
    bank.load(folder / "dataset.json")


def read(name: str, content: str, format: str = "csv") -> None:
    importers.read(format, [banks.SourceFile(name=name, content=content.encode())])


REFUSED: dict[str, Callable[[Path], object]] = {
    "no scheme": lambda _folder: addresses.checked("model.example/v1"),
    "a port out of range": lambda _folder: addresses.checked("http://127.0.0.1:99999/v1"),
    "no CA file": lambda _folder: network.checked_ca_file("/no/such/file.pem"),
    "a bank of the wrong shape": broken_bank,
    "a bank that is no JSON": unreadable_bank,
    "a table without rows": lambda _folder: read("q.csv", "clause,text\n"),
    "a table with an unknown column": lambda _folder: read("q.csv", "clause,text,colour\nA.1.a,hello,red\n"),
    "a table with an unknown mode": lambda _folder: read("q.csv", "clause,text,mode\nA.1.a,hello,singel\n"),
    "a line that is no JSON": lambda _folder: read("q.jsonl", "{]\n", "jsonl"),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED.keys())
def test_what_the_engine_refuses_is_said_in_chinese(refused: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        refused(tmp_path)
    said = spoken.said(caught.value.message)
    assert re.search("[\u4e00-\u9fff]{4}", said), said
    assert not re.search(r"\b(?:the|is|no|it|be|and|to|line|column|key|case|known)\b(?!')", said), said


def test_a_place_in_a_file_is_told_in_chinese() -> None:
    text = (
        "2 problems in the bank:\n- d.json, case 'X-1', key 'turns[0].text': is missing; add it\n- f.json: no such file"
    )
    assert spoken.said(text) == (
        "题库中有 2 处问题：\n- d.json，用例 'X-1'，键 'turns[0].text'：缺失；请补上\n- f.json：没有这个文件"
    )


def test_what_a_model_can_do_is_called_as_on_the_rest_of_the_page(speaks: Callable[[str], None]) -> None:
    text = "it could not be found out whether the model can do tools, vision; it is asked all the same"
    speaks("en")
    assert "tools, vision" in spoken.sentence(text)
    speaks("zh")
    assert "工具, 图像" in spoken.said(text)


def test_why_a_judge_model_gave_nothing_to_read_is_said_in_chinese_and_its_own_reason_is_left_alone() -> None:
    text = f"the judge could not be had: {WHERE} gave no whole answer within 5 s"
    failed = Judgement(judge=JudgeKind.LLM, verdict=None, reason=text, detail={"code": "judge_unavailable"})
    assert english(result_detail.reason(failed), "e-1 (http://127.0.0.1:9/v1)") == []
    own = Judgement(judge=JudgeKind.LLM, verdict=None, reason="it is empty: the file is empty; choose another")
    assert result_detail.reason(own) == own.reason


def test_in_english_and_where_nothing_is_known_a_text_stays_as_it_is(speaks: Callable[[str], None]) -> None:
    assert spoken.said("something <b>new</b>: it came; it went") == "something <b>new</b>: it came; it went"
    assert spoken.sentence("something <b>new</b>") == "something <b>new</b>"
    speaks("en")
    assert spoken.said(worker.STOPPED) == worker.STOPPED


@pytest.mark.parametrize("piece", ["a: b; ", "x. y: ", "is missing; ", "the endpoint ", "'a', ", "no clause "])
def test_a_text_made_to_be_taken_apart_is_answered_soon(piece: str) -> None:
    started = time.thread_time()
    spoken.said((piece * spoken.LONGEST)[: spoken.LONGEST])
    assert time.thread_time() - started < 5


def test_a_bank_that_is_too_small_is_told_so_to_the_last_figure() -> None:
    text = (
        "bank 'b' is too small for the formal profile 'p': content questions: 320 of at least 2000; should-refuse "
        "questions of clause A.1.a: 2 of at least 20; "
        "questions of mode tool: 3 of at least 9; and 40 more. Add questions, or choose a profile that is "
        "not formal"
    )
    assert spoken.said(text) == (
        "题库 'b' 达不到正式评测方案 'p' 的规模：内容题：320，至少需要 2000；"
        "条款 A.1.a 的应拒答题：2，至少需要 20；模式 tool 的题目：3，至少需要 9；"
        "另有 40 项。"
        "请增加题目，或选择非正式的评测方案"
    )
