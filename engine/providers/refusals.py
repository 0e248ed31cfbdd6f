"""Which parameter or role an endpoint says it does not support, from the words of OpenAI, Azure, vLLM and gateways.

Nothing depends on one provider's list of codes: an error counts when it names something we may send and says, in a code
or in words, that this is unsupported rather than wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

NAMES = (
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "temperature",
    "stream_options",
    "stream",
    "tool_choice",
    "tools",
    "response_format",
    "parallel_tool_calls",
    "presence_penalty",
    "frequency_penalty",
    "reasoning_effort",
    "logprobs",
    "thinking",
    "top_k",
    "top_p",
    "seed",
    "stop",
    "system",
    "developer",
)
_SAME = {"tool_choice": "tools"}
"""Sent, and so left out, only together with another."""

_UNSUPPORTED_CODES = frozenset(
    {
        "unsupported_parameter",
        "unsupported_value",
        "unsupportedparameter",
        "unsupported_param",
        "unknown_parameter",
        "unrecognized_parameter",
        "unrecognized_request_argument",
        "extra_forbidden",
        "value_error.extra",
        "unexpected_parameter",
    }
)
_UNSUPPORTED = re.compile(
    r"unsupported|not\s+(?:be\s+)?(?:support|permitt|allow|enabl|recogni[sz]|accept|implement|available)\w*"
    r"|(?:do|does|did|is|are|can)(?:n't|n’t|not| not)\s+(?:currently\s+|yet\s+)?"
    r"(?:support|allow|accept|permit|enabl|recogni[sz]|implement)\w*"
    r"|un(?:known|recogni[sz]ed|expected)\s+(?:\w+\s+){0,2}(?:argument|parameter|field|property|key|name|keyword|variant)"
    r"|no\s+endpoints?\s+found\s+that\s+support|deprecated|extra\s+(?:inputs|fields)|unexpected\s+keyword"
    r"|additional\s+propert|only\s+the\s+default|must\s+be\s+(?:one|user)|expected\s+one\s+of|input\s+should\s+be"
    r"|requires\s+--|cannot\s+be\s+(?:set|specified|used)|不支持|暂不|未知参数|不允许",
    re.IGNORECASE,
)
_OTHER_WAY = re.compile(
    r"(?:please\s+)?(?:use|try|pass)\s+[`'\"]?[\w.]+[`'\"]?\s+instead|"
    r"(?:replaced\s+by|in\s+favou?r\s+of|did\s+you\s+mean)\s+[`'\"]?[\w.]+[`'\"]?",
    re.IGNORECASE,
)
_MUST_STREAM = re.compile(
    r"only\s+supports?\s+stream|must\s+(?:be\s+)?stream|stream\w*\s+(?:is\s+|mode\s+is\s+)?(?:required|mandatory)"
    r"|(?:set|enable)\s+(?:the\s+)?[`'\"]?stream|stream[`'\"]?\s+must\s+be\s+(?:set\s+to\s+)?true|仅支持流式|只支持流式",
    re.IGNORECASE,
)
_CALLED_SO = r"(?:arguments?|parameters?|fields?|properties|property|keywords?|options?|inputs?)"
_CALLED = rf"(?:{_CALLED_SO}|supplied|argument name)\s*:?\s*[\[(]?"
_TOO_MUCH = re.compile(
    r"too\s+(?:large|long|high|many)|maximum|context[_ ](?:length|window)|greater\s+than", re.IGNORECASE
)
_NAME = re.compile(r"(?<![\w.-])(" + "|".join(NAMES) + r")(?![\w-])", re.IGNORECASE)
_ROLE_VALUE = re.compile(r"[`'\"](system|developer)[`'\"]", re.IGNORECASE)
_ROLES_TO_CHOOSE = re.compile(
    r"(?:expected\s+one\s+of|input\s+should\s+be|must\s+be\s+one\s+of|allowed:?).*", re.I | re.S
)
_IN_WORDS = (
    (re.compile(r"(?:developer|system)\s+instructions?", re.IGNORECASE), "system"),
    (re.compile(r"system\s+(?:role|messages?|prompts?)|role\s+system|系统提示|系统消息", re.IGNORECASE), "system"),
    (re.compile(r"developer\s+(?:role|messages?)|role\s+developer", re.IGNORECASE), "developer"),
    (
        re.compile(r"tool[ _-]?(?:calling|calls?|choice|use)|function[ _-]?(?:calling|calls?)|工具调用", re.IGNORECASE),
        "tools",
    ),
    (re.compile(r"json\s*[_ ]?(?:mode|object|schema|output)|structured\s+outputs?", re.IGNORECASE), "response_format"),
    (re.compile(r"streaming|流式", re.IGNORECASE), "stream"),
)


def refused(status: int, content: Any, sent: Collection[str] = ()) -> str | None:
    """The name of what a read error body calls unsupported; None where it names nothing, or calls it merely wrong.

    `sent`: further names that a request carries. Nobody foresaw them, and they may be ordinary words, so an error means
    one of them only where it quotes it or calls it a parameter.
    """
    if status not in (400, 404, 405, 422, 500, 501):
        return None
    words = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    if len(words) > _LONGEST or _MUST_STREAM.search(words):
        return None
    codes, places, texts = _parts(content)
    text = " ".join(texts)
    by_code = not _UNSUPPORTED_CODES.isdisjoint(codes)
    if not by_code and (not _UNSUPPORTED.search(text) or _TOO_MUCH.search(text)):
        return None
    if status in (404, 405, 500, 501) and not by_code and not _UNSUPPORTED.search(text):
        return None
    for place in places:
        name = _name_of_place(place, text)
        if name is not None:
            return _SAME.get(name, name)
    return _sent_in(text, sent) or _name_in(text)


_LONGEST = 20_000


def _parts(content: Any) -> tuple[set[str], list[str], list[str]]:
    """Codes, places (`messages[0].role`, `body.stream_options`) and sentences of an error, wherever it keeps them."""
    codes: set[str] = set()
    places: list[str] = []
    texts: list[str] = []

    def read(value: Any, depth: int) -> None:
        if depth > 6:
            return
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, list):
            for each in value[:20]:
                read(each, depth + 1)
        elif isinstance(value, dict):
            for name, each in value.items():
                if name in ("code", "type") and isinstance(each, str):
                    codes.add(each.lower())
                elif name == "param" and isinstance(each, str):
                    places.append(each)
                elif name == "loc" and isinstance(each, list):
                    places.append(".".join(map(str, each)))
                elif name == "input" and each in ("system", "developer"):
                    texts.insert(0, f"'{each}'")
                elif name not in ("input", "ctx", "url", "request_id", "id"):
                    read(each, depth + 1)

    read(content, 0)
    return codes, places, texts


def _name_of_place(place: str, text: str) -> str | None:
    steps = [step for step in re.split(r"[.\[\]/]+", place) if step and step not in ("body", "query")]
    if not steps:
        return None
    if steps[-1] == "role":
        return _role_in(text)
    return (
        steps[0] if re.fullmatch(r"[a-z][a-z0-9_]{1,39}", steps[0]) and steps[0] not in ("messages", "model") else None
    )


def _role_in(text: str) -> str:
    found = _ROLE_VALUE.search(_ROLES_TO_CHOOSE.sub("", text)) or re.search(
        r"developer", _ROLES_TO_CHOOSE.sub("", text)
    )
    return "developer" if found and "developer" in found[0].lower() else "system"


def _sent_in(text: str, sent: Collection[str]) -> str | None:
    said = _OTHER_WAY.sub(" ", text)
    for name in sent:
        if name in NAMES:
            continue
        word = rf"(?<![\w.-]){re.escape(name)}(?![\w-])"
        if re.search(rf"[`'\"]{word}[`'\"]|{_CALLED}{word}|{word}(?::|\s+{_CALLED_SO})", said, re.IGNORECASE):
            return name
    return None


def _name_in(text: str) -> str | None:
    """What a sentence names, leaving aside what it recommends instead."""
    said = _OTHER_WAY.sub(" ", text)
    if re.search(r"\.role\b|\broles?\b", said) and _ROLE_VALUE.search(_ROLES_TO_CHOOSE.sub("", said)):
        return _role_in(said)
    for pattern, name in _IN_WORDS[:3]:
        if pattern.search(said):
            return name
    found = _NAME.search(said)
    if found is not None:
        name = found[1].lower()
        return _SAME.get(name, name)
    for pattern, name in _IN_WORDS[3:]:
        if pattern.search(said):
            return name
    return None
