"""What the engine remarks on a run, in the reader's language: what an endpoint refuses, what could not be done.

A run keeps English sentences. Those with a part that changes are known by their shape; any other is shown as it is.
"""

from __future__ import annotations

import re

from dashboard import faults, words
from dashboard.components import untrusted
from dashboard.i18n import _


def of(text: str) -> str:
    """A warning of a run as Markdown text."""
    return faults.sentence(text) or _of_a_shape(text) or untrusted.label(text, limit=500)


def _of_a_shape(text: str) -> str | None:
    refused = re.fullmatch(r"the endpoint refuses (\w+); it is (?:not sent|sent as (\w+))", text)
    if refused is not None:
        name, other = untrusted.label(refused[1]), refused[2]
        if other is None:
            return _("The endpoint refuses {name}; it is not sent.").format(name=name)
        return _("The endpoint refuses {name}; it is sent as {other}.").format(name=name, other=untrusted.label(other))
    unknown = re.fullmatch(
        r"it could not be found out whether the model can do ([\w, ]+); it is asked all the same", text
    )
    if unknown is not None:
        names = ", ".join(words.capability(name) for name in unknown[1].split(", "))
        return _("It could not be found out whether the model can do this: {names}. It is asked all the same.").format(
            names=names
        )
    kept = re.fullmatch(r"(\d+) answers could not be judged anew, because the judge could not be reached; .*", text)
    if kept is not None:
        return _("Answers that could not be judged anew, as the judge could not be reached: {n}.").format(
            n=words.count(int(kept[1]))
        ) + (" " + _("They keep the verdict they had."))
    mixed = re.fullmatch(r"some answers were judged by (.+), the others by (.+)", text)
    if mixed is not None:
        one, other = (
            _("rules alone") if each == "rules alone" else untrusted.label(each, limit=60) for each in mixed.groups()
        )
        return _("Some answers were judged by {one}, the others by {other}.").format(one=one, other=other)
    return None
