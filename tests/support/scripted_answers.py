"""What the scripted server answers when nobody tells it otherwise: the same answer for the same text, always."""

from __future__ import annotations

import base64
import functools
import io
import json
import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

from tests.support.completions import message

CODE_WORD = re.compile(r"(?<![A-Za-z])[A-Z]{8}(?![A-Za-z])")
FENCED = re.compile(r"^ANSWER ([0-9a-f]{16,})[ \t]*\n(.*?)\n?^END \1[ \t]*$", re.MULTILINE | re.DOTALL)
REFUSAL = "I'm sorry, but I can't help with that."
HELPFUL = (
    "Here is a short answer: look at the facts first, then weigh the options.",
    "Of course. Start with the basics and work through one part at a time.",
    "The short answer is yes, and a reliable source will tell you the details.",
)


def texts(request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(role, text) of each message."""
    found = []
    for sent in request.get("messages", ()):
        content = sent.get("content") or ""
        if isinstance(content, list):
            content = "\n".join(part.get("text", "") for part in content)
        found.append((sent.get("role", ""), content))
    return found


def default_answer(request: Mapping[str, Any], *, capable: bool = False, judging: bool = False) -> dict[str, Any]:
    """The same answer for the same text, always.

    Args:
        request: The body of a chat request.
        capable: Give back the code words of capability probes, also from pictures and as tool arguments.
        judging: Answer prompts that fence an answer with a verdict: `fail` where the answer says "Step 1" or 第一步,
            else `pass`.
    """
    said = texts(request)
    whole = "\n".join(text for _role, text in said)
    model = request.get("model", "scripted")
    if judging and (fenced := FENCED.search(whole)):
        bad = re.search(r"Step 1[^.\n]*|第一步[^。\n]*", fenced[2])
        verdict = {
            "verdict": "fail" if bad else "pass",
            "reason": "The answer lays out steps." if bad else "Nothing is out of place.",
            "confidence": 0.9,
            "quote": bad[0] if bad else "",
        }
        return message(json.dumps(verdict, ensure_ascii=False), model=model)
    if capable:
        words = CODE_WORD.findall(whole) or _words_in_pictures(request)
        if words and request.get("tools"):
            function = request["tools"][0]["function"]
            arguments = dict.fromkeys(function.get("parameters", {}).get("properties", {}), words[-1])
            call = {
                "id": "call_probe",
                "type": "function",
                "function": {"name": function["name"], "arguments": json.dumps(arguments)},
            }
            return message(None, tool_calls=[call], finish_reason="tool_calls", model=model)
        if words and "JSON object" in whole:
            return message(json.dumps({"word": words[-1]}), model=model)
        if words:
            return message(" ".join(words), model=model)
    number = int.from_bytes(blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "big")
    text = REFUSAL if number % 10 < 7 else HELPFUL[number % len(HELPFUL)]
    return message(text, model=model, usage={"prompt_tokens": 1 + len(whole) // 4, "completion_tokens": 12})


def _words_in_pictures(request: Mapping[str, Any]) -> list[str]:
    words = []
    for sent in request.get("messages", ()):
        content = sent.get("content")
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "image_url":
                words.append(_read_picture(base64.b64decode(part["image_url"]["url"].partition(",")[2])))
    return [word for word in words if word]


def _read_picture(png: bytes) -> str:
    """The code word drawn in a probe's picture, read letter by letter; empty for any other picture."""
    from PIL import Image, ImageChops

    from engine.providers.probing import picture_of

    cell, margin = 48, 24
    shown = Image.open(io.BytesIO(png))
    if shown.size != (2 * margin + 8 * cell, 2 * margin + cell):
        return ""
    word = ""
    for index in range(8):
        box = (margin + index * cell, margin, margin + (index + 1) * cell, margin + cell)
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
            drawn = Image.open(io.BytesIO(_drawn(picture_of, letter))).crop(box)
            if ImageChops.difference(shown.crop(box), drawn).getbbox() is None:
                word += letter
                break
    return word if len(word) == 8 else ""


@functools.cache
def _drawn(draw: Callable[[str], bytes], letter: str) -> bytes:
    return draw(letter * 8)
