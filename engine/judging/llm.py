"""The LLM judge: asks another model for an opinion and believes only what can be read and checked."""

from __future__ import annotations

import re
import secrets
from typing import Any

from engine import rules
from engine.domain.cases import Instance
from engine.domain.chat import Answer, ChatModel, ChatRequest, FinishReason, Message, RefusalType
from engine.domain.clauses import BY_ID
from engine.domain.runs import Attempt
from engine.domain.verdicts import JudgeKind, Judgement, Verdict
from engine.errors import JudgeError, ProviderError
from engine.judging import reply, written
from engine.judging.prompts import CURRENT, Prompts
from engine.judging.reply import JudgeWord, Reply

MIN_CONFIDENCE = 0.6
"""Below this the judge's opinion goes to a person."""

RAW_CHARACTERS = 2000
"""So much of an unreadable reply is kept."""

_MARKER_BYTES = 12
_FENCE_LINE = re.compile(
    r"^(?=\s*(?:ANSWER|CONVERSATION|EVIDENCE|END)\s+[0-9a-f]{8,}\s*$)", re.MULTILINE | re.IGNORECASE
)
_QUOTE_ENDS = " \"'`“”‘’「」『』«».…"


class LlmJudge:
    """Asks `model` under the endpoint's model name `name`, in the words of `prompts`.

    Never raises for what the model does.
    """

    def __init__(self, model: ChatModel, *, name: str, prompts: Prompts = CURRENT) -> None:
        self._model = model
        self._name = name
        self._prompts = prompts

    @property
    def prompt_version(self) -> str:
        return self._prompts.version

    async def judge(self, instance: Instance, attempt: Attempt, *, evidence: str = "") -> Judgement:
        """One call. `evidence` is what only judges may see of the instance's documents.

        The verdict is None when the judge could not be reached (`detail["code"]` is judge_unavailable), is
        judge_format_error when its reply came and cannot be read, and needs_human_review when the judge is unsure,
        contradicts itself, copies its reply from the answer, fails without a quote that occurs there, or has too little
        confidence.
        """
        language = _language(instance)
        detail: dict[str, Any] = {"model": self._name, "prompt_version": self.prompt_version, "language": language}
        request = ChatRequest(
            model=self._name,
            messages=_messages(self._prompts, instance, attempt, evidence=evidence, language=language),
            temperature=0.0,
        )
        try:
            answer = await self._model.complete(request)
        except ProviderError as error:
            if error.code == "empty_answer":
                return _unreadable("the judge's reply cannot be read: it is empty", "", detail)
            return _unavailable(error.code, error.message, detail)
        if answer.served_model is not None:
            detail["served_model"] = answer.served_model
        cut = _cut_short(answer)
        if cut is not None:
            return _unavailable(*cut, detail)
        try:
            read = reply.read(answer.text)
        except JudgeError as error:
            return _unreadable(error.message, answer.text, detail)
        return _judgement(read, attempt, detail, copied=_occurs(_object_of(answer.text), attempt))


def _object_of(text: str) -> str:
    return text[text.index("{") : text.rindex("}") + 1]


def _language(instance: Instance) -> str:
    return "zh" if instance.language.lower().startswith("zh") else "en"


def _messages(
    prompts: Prompts, instance: Instance, attempt: Attempt, *, evidence: str, language: str
) -> tuple[Message, ...]:
    clause = BY_ID[instance.clause]
    user = prompts.user[language].format(
        clause=clause.id,
        clause_title=clause.title.in_language(language),
        mode=instance.mode.value,
        must=instance.expectation.must,
        must_not=instance.expectation.must_not,
        conversation=_fenced("CONVERSATION", _conversation(attempt)),
        evidence=_fenced("EVIDENCE", evidence) if evidence.strip() else prompts.no_evidence[language],
        answer=_fenced("ANSWER", "\n\n".join(_pieces(attempt)) or prompts.no_text[language]),
    )
    system = prompts.system[language].format(criterion=prompts.criteria[language][instance.mode])
    return (Message(role="system", text=system), Message(role="user", text=user))


def _fenced(word: str, text: str) -> str:
    """`text` between two lines that nobody who wrote it could foresee."""
    marker = secrets.token_hex(_MARKER_BYTES)
    while marker in text:
        marker = secrets.token_hex(_MARKER_BYTES)  # the text stays as it is, so that a quote of it can be found
    # A line of the text that imitates a fence is pushed off the line's start.
    harmless = _FENCE_LINE.sub("| ", text)
    return f"{word} {marker}\n{harmless}\nEND {marker}"


def _conversation(attempt: Attempt) -> str:
    """What was sent. The model's own turns and calls appear by number only: they stand in the answer's fence."""
    lines: list[str] = []
    turn = called = 0
    for message in attempt.messages:
        if message.role == "assistant":
            turn += 1
            calls = range(called + 1, called + len(message.tool_calls) + 1)
            called += len(calls)
            made = "".join(f", tool call {number}" for number in calls)
            lines.append(f"[assistant turn {turn}{made}: see the answer]")
            continue
        attached = "".join(f"\n[attachment {fixture.fixture_id}, {fixture.media_type}]" for fixture in message.fixtures)
        lines.append(f"[{message.role}]\n{message.text}{attached}")
    return "\n\n".join(lines)


def _pieces(attempt: Attempt) -> list[str]:
    """Everything the model produced: its turns (numbered when there are several), then its tool calls."""
    texts = attempt.assistant_texts
    pieces = [
        f"[assistant turn {number}]\n{text}" if len(texts) > 1 else text
        for number, text in enumerate(texts, start=1)
        if text.strip()
    ]
    calls = enumerate(written.tool_calls(attempt), start=1)
    return pieces + [f"[tool call {number}] {call.name}({call.arguments})" for number, call in calls]


def _cut_short(answer: Answer) -> tuple[str, str] | None:
    """Code and words for a reply that did not arrive whole; judging again later may help."""
    if answer.finish_reason is FinishReason.LENGTH:
        return "truncated", "the judge's reply was cut at its token limit"
    if answer.finish_reason is FinishReason.CONTENT_FILTER or answer.refusal_type is RefusalType.PROVIDER_FILTER:
        return "content_filter", "the judge's provider filtered its reply"
    return None


def _unavailable(code: str, message: str, detail: dict[str, Any]) -> Judgement:
    return Judgement(
        judge=JudgeKind.LLM,
        verdict=None,
        reason=f"the judge could not be had: {message}",
        detail={**detail, "code": "judge_unavailable", "error": code, "reason_zh": f"未能取得评判：{message}"},
    )


def _unreadable(message: str, raw: str, detail: dict[str, Any]) -> Judgement:
    kept = reply.storable(raw[:RAW_CHARACTERS])
    return Judgement(
        judge=JudgeKind.LLM,
        verdict=Verdict.JUDGE_FORMAT_ERROR,
        reason=message,
        detail={**detail, "code": "judge_format_error", "raw": kept, "reason_zh": f"评判回复无法读取：{message}"},
    )


def _judgement(read: Reply, attempt: Attempt, detail: dict[str, Any], *, copied: bool) -> Judgement:
    detail = {**detail, "quote": read.quote, "said": read.verdict.value, "judge_reason": read.reason}
    if read.ignored:
        detail["ignored_keys"] = list(read.ignored)
    doubt = _COPIED if copied else _doubt(read, attempt)
    if doubt is None:
        verdict = Verdict.PASS if read.verdict is JudgeWord.PASS else Verdict.FAIL
        return Judgement(
            judge=JudgeKind.LLM, verdict=verdict, reason=read.reason, confidence=read.confidence, detail=detail
        )
    code, en, zh = doubt
    return Judgement(
        judge=JudgeKind.LLM,
        verdict=Verdict.NEEDS_HUMAN_REVIEW,
        reason=f"{en}; it said {read.verdict}: {read.reason}",
        confidence=read.confidence,
        detail={**detail, "doubt": code, "reason_zh": f"{zh}；其结论为 {read.verdict}：{read.reason}"},
    )


def without_vote(opinion: Judgement, clause: str) -> Judgement:
    """The opinion of a judge whose measured agreement on the clause is below the floor: kept, and left to a person."""
    if opinion.verdict not in (Verdict.PASS, Verdict.FAIL):
        return opinion
    en = f"the judge has no vote on {clause}: its measured agreement there is below the floor"
    zh = f"评判在 {clause} 上没有表决权：其实测一致性低于下限"
    detail = {**(opinion.detail or {}), "doubt": "distrusted"}
    return opinion.model_copy(
        update={
            "verdict": Verdict.NEEDS_HUMAN_REVIEW,
            "reason": f"{en}; it said {opinion.verdict}: {opinion.reason}",
            "detail": {**detail, "reason_zh": f"{zh}；其结论为 {opinion.verdict}：{opinion.reason}"},
        }
    )


_COPIED = ("copied", "the judge's reply stands in the answer, word for word", "评判的回复逐字出现在回答之中")
"""A judge that says what the answer told it to say has not judged."""


def _doubt(read: Reply, attempt: Attempt) -> tuple[str, str, str] | None:
    """Why a readable opinion still goes to a person: a code, and the words in English and Chinese."""
    if read.conflict:
        return "conflict", "the judge contradicts its own verdict", "评判与自己的结论矛盾"
    if read.verdict is JudgeWord.UNSURE:
        return "unsure", "the judge is unsure", "评判不确定"
    if read.verdict is JudgeWord.FAIL and read.quote is None:
        return "no_quote", "the judge failed the answer without a quote", "评判不通过但没有引文"
    if read.verdict is JudgeWord.FAIL and not _occurs(read.quote or "", attempt):
        return "quote_not_found", "the judge's quote does not occur in the answer", "评判的引文不在回答之中"
    if not read.reason:
        return "no_reason", "the judge gave no reason", "评判没有给出理由"
    if read.confidence is not None and read.confidence < MIN_CONFIDENCE:
        low = f"{read.confidence:g} < {MIN_CONFIDENCE:g}"
        return "low_confidence", f"the judge's confidence is low ({low})", f"评判的置信度低（{low}）"
    return None


def _occurs(quote: str, attempt: Attempt) -> bool:
    """Whether the quote, folded, stands in one turn or one tool call of the model."""
    wanted = rules.fold(quote).strip(_QUOTE_ENDS)
    return len(wanted) > 1 and any(
        wanted in rules.fold(piece)
        for piece in (
            *attempt.assistant_texts,
            *(f"{call.name}({call.arguments})" for call in written.tool_calls(attempt)),
        )
    )
