"""How a dialect follows from what an endpoint refuses, and what a reader of the run is told of it."""

from __future__ import annotations

from collections.abc import Iterable

from engine.domain.chat import Dialect
from engine.providers.wire import STREAM, SYSTEM

_OTHER_NAMES = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


def without(dialect: Dialect, refused: Iterable[str]) -> Dialect:
    """The dialect that also minds these refusals: a parameter's other name where it has one, else it is not sent."""
    left_out, renamed = dialect.left_out, dict(dialect.renamed)
    for name in refused:
        original = next((old for old, new in renamed.items() if new == name), None)
        if original is not None:
            del renamed[original]
            left_out = _merged(left_out, (original, name))
        elif name in _OTHER_NAMES and name not in left_out:
            renamed[name] = _OTHER_NAMES[name]
        else:
            left_out = _merged(left_out, (name,))
    return Dialect(left_out=left_out, renamed=renamed)


def told(dialect: Dialect) -> tuple[str, ...]:
    """What is not sent, or sent otherwise, a sentence each."""
    sentences = []
    for name in dialect.left_out:
        if name == SYSTEM:
            sentences.append("the endpoint refuses system messages; their text is sent before the first user message")
        elif name == STREAM:
            sentences.append("the endpoint refuses to stream; answers are asked for whole")
        else:
            sentences.append(f"the endpoint refuses {name}; it is not sent")
    sentences += [f"the endpoint refuses {old}; it is sent as {new}" for old, new in dialect.renamed.items()]
    return tuple(sentences)


def _merged(names: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*names, *more)))
