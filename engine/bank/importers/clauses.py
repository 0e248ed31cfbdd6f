"""Which clause somebody else's label means, and by which rule."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from engine.domain.clauses import BY_ID, CLAUSES, GROUPS, Aspect


class Mapped(NamedTuple):
    """A clause and the rule that led to it; `group` when the label means a group and its catch-all clause stands in."""

    clause: str
    rule: str


CATCH_ALL = {"A.1": "A.1.h", "A.2": "A.2.i", "A.3": "A.3.e", "A.4": "A.4.g"}
"""The clause that stands for a whole group. A.5 has none: its two clauses do not contain one another."""

_CLAUSE = re.compile(r"A[\W_]?([1-5])[\W_]{0,2}([a-i])\W?", re.IGNORECASE)
_GROUP = re.compile(r"A\W?([1-5])\W?", re.IGNORECASE)


def clause_named(label: str) -> Mapped | None:
    """The clause that a label names: its id (`A.1.a`), another spelling of it (`A1-a`, `A1a`, `A.1 a)`), its title in
    either language, or a group's id or title."""
    if label in BY_ID:
        return Mapped(label, "clause")
    text = unicodedata.normalize("NFKC", label).strip()
    if (found := _CLAUSE.fullmatch(text)) is not None:
        clause = f"A.{found[1]}.{found[2].lower()}"
        return Mapped(clause, "clause alias") if clause in BY_ID else None
    if (found := _GROUP.fullmatch(text)) is not None:
        return _of_group(f"A.{found[1]}")
    title = _title(text)
    return _BY_TITLE.get(title) if title else None


def clause_of_harm(labels: Iterable[str]) -> Mapped | None:
    """The clause of the first label that names a clause or a known kind of harm, such as `self-harm`."""
    for label in labels:
        found = clause_named(label) or _BY_HARM.get(_word(label))
        if found is not None:
            return found
    return None


ASPECT_OF_CLAUSE = {
    "A.2.a": Aspect.ETHNICITY,
    "A.2.b": Aspect.BELIEF,
    "A.2.d": Aspect.GEOGRAPHY,
    "A.2.e": Aspect.GENDER,
    "A.2.f": Aspect.AGE,
    "A.2.g": Aspect.OCCUPATION,
    "A.2.h": Aspect.HEALTH,
    "A.4.a": Aspect.HEALTH,
}
"""The aspect that a benign question near a clause touches, where the clause leaves no doubt."""


def _of_group(group: str) -> Mapped | None:
    return Mapped(CATCH_ALL[group], "group") if group in CATCH_ALL else None


def _title(text: str) -> str:
    """Titles are compared without spaces, punctuation, case, and the two spellings that copies differ in."""
    return "".join(c for c in text.casefold() if c.isalnum()).replace("侵害", "侵犯").removesuffix("内容")


_BY_TITLE: dict[str, Mapped] = {
    **{
        _title(words): Mapped(clause, "group")
        for group, clause in CATCH_ALL.items()
        for words in (GROUPS[group].zh, GROUPS[group].en)
    },
    **{
        _title(words): Mapped(clause.id, "clause title")
        for clause in CLAUSES
        for words in (clause.title.zh, clause.title.en)
    },
}


def _word(label: str) -> str:
    """`harmful:Self-Harm` as `self harm`."""
    text = unicodedata.normalize("NFKC", label).casefold().rpartition(":")[2]
    return " ".join(re.split(r"[\W_]+", text)).strip()


_HARMS = {
    "A.1.d": "terrorism, extremism, violent extremism, radicalization, radicalisation",
    "A.1.e": "ethnic hatred",
    "A.1.f": (
        "violence, violent, violent crime, violent crimes, graphic content, sexual, sexual content, pornography, "
        "adult content, child sexual exploitation, child exploitation, csam, vcr, cse, sxc, s1, s4, s12"
    ),
    "A.1.g": "misinformation, disinformation, misinformation disinformation, information integrity, fake news, "
    "elections, election misinformation, s13",
    "A.1.h": (
        "crime, illegal, illegal activities, illegal activity, non violent crime, non violent crimes, cybercrime, "
        "cybercrime malicious code, hacking, malware, malicious code, exploits, code interpreter abuse, illegal drugs, "
        "drugs, drug crimes, weapons, illegal weapons, indiscriminate weapons, fraud, fraud scam, scams, gambling, "
        "chemical biological weapons, cbrn, counterfeit, sex crime, sex crimes, sex related crimes, ncr, src, iwp, s2, "
        "s3, s9, s14"
    ),
    "A.2.c": "nationality, national origin",
    "A.2.a": "racism, race, ethnicity",
    "A.2.b": "religion, religious discrimination",
    "A.2.e": "sexism, gender, gender bias",
    "A.2.f": "age, ageism, age bias",
    "A.2.h": "disability, ableism, disability bias",
    "A.3.a": "copyright, copyright violations, intellectual property, plagiarism, ipv, s8",
    "A.3.c": "trade secrets, confidential information",
    "A.3.d": "unfair competition, monopoly, antitrust",
    "A.4.a": "self harm, suicide, suicide and self harm, physical harm, mental harm, eating disorders, health harm, "
    "unsafe practices, harassment, harassment bullying, bullying, ssh, s11",
    "A.4.b": "deepfake, deepfakes, likeness",
    "A.4.c": "defamation, libel, slander, dfm, s5",
    "A.4.e": "privacy, privacy violations, prv, s7",
    "A.4.f": "personal information, personal data, pii, data privacy",
    "A.5.a": "specialized advice, specialised advice, medical advice, legal advice, financial advice, "
    "hallucination, spc, s6",
}
_GROUP_HARMS = (
    "hate, hate speech, hateful content, discrimination, bias, representational, representational harm, "
    "unfairness and bias, toxicity, insults, hte, s10"
)

_BY_HARM: dict[str, Mapped] = {
    **{word: Mapped(clause, "harm label") for clause, words in _HARMS.items() for word in words.split(", ")},
    **{word: Mapped(CATCH_ALL["A.2"], "group") for word in _GROUP_HARMS.split(", ")},
}
