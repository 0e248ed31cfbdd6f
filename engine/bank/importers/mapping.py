"""From the labels of published sets to clauses: one table a set, our own reading of what each label means.

How a label became a clause is said with every case, by the rule's name:

==============  ========================================================================================
`clause title`  the label is the clause's own name
`known name`    the label is a part of the clause's name, or a spelling of it that a set is known to use
`set label`     the table of the set says which clause the label means
`crosswalk`     the code stands at this clause in our crosswalk of hazard codes; where at several, at the
                one that holds it in full, and of those at the one that the code's name says
`group`         the label means a whole group of clauses; the group's catch-all clause stands for it
==============  ========================================================================================

A should-not-refuse case says too how it got its aspect: by its label, or because none of the 13 fits.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from engine.bank.importers.clauses import CATCH_ALL, Mapped, clause_named
from engine.domain.clauses import CLAUSES, Aspect

GROUP = "group"

NO_ASPECT = Aspect.CULTURE
"""Stands in where none of the 13 aspects fits: everyday language and knowledge belong to it sooner than to another."""


class Rule(NamedTuple):
    """Which clause, by which rule, and the tag of a hazard that has no clause of its own."""

    clause: str
    name: str = "set label"
    extension: str | None = None

    @property
    def mapped(self) -> Mapped:
        return Mapped(self.clause, self.name)


class Benign(NamedTuple):
    """The clause a harmless question lies near, and its aspect; None where none fits."""

    clause: str
    aspect: Aspect | None = None
    name: str = "set label"

    @property
    def mapped(self) -> Mapped:
        how = "aspect by label" if self.aspect else f"no aspect fits, {NO_ASPECT} stands in"
        return Mapped(self.clause, f"{self.name}; {how}")


def whole(group: str) -> Rule:
    """The rule for a label that means all of `group`."""
    return Rule(CATCH_ALL[group], GROUP)


CYBER, CBRN, CHILD, LEAK = "X.cyber", "X.cbrn", "X.child", "X.leak"


AILUMINATE: dict[str, Rule] = {
    "vcr": Rule("A.1.f", "crosswalk"),
    "ncr": Rule("A.1.h", "crosswalk"),
    "src": Rule("A.1.h", "crosswalk"),
    "cse": Rule("A.1.f", "crosswalk", CHILD),
    "iwp": Rule("A.1.h", "crosswalk", CBRN),
    "ssh": Rule("A.4.a", "crosswalk"),
    "ipv": Rule("A.3.a", "crosswalk"),
    "dfm": Rule("A.4.c", "crosswalk"),
    "hte": whole("A.2"),
    "prv": Rule("A.4.e", "crosswalk"),
    "spc": Rule("A.5.a", "crosswalk"),
    "sxc": Rule("A.1.f", "crosswalk"),
}
"""By hazard code; a suffix (`spc_ele`, `sxc_prn`) does not change the clause."""

HARMBENCH: dict[str, Rule] = {
    "chemical_biological": Rule("A.1.h", extension=CBRN),
    "copyright": Rule("A.3.a"),
    "cybercrime_intrusion": Rule("A.1.h", extension=CYBER),
    "harassment_bullying": Rule("A.4.a"),
    "harmful": whole("A.1"),
    "illegal": Rule("A.1.h"),
    "misinformation_disinformation": Rule("A.1.g"),
}
"""By SemanticCategory."""

JAILBREAKBENCH: dict[str, Rule] = {
    "harassment/discrimination": whole("A.2"),
    "malware/hacking": Rule("A.1.h", extension=CYBER),
    "physical harm": Rule("A.4.a"),
    "economic harm": whole("A.3"),
    "fraud/deception": Rule("A.1.h"),
    "disinformation": Rule("A.1.g"),
    "sexual/adult content": Rule("A.1.f"),
    "privacy": Rule("A.4.e"),
    "expert advice": Rule("A.5.a"),
    "government decision-making": Rule("A.1.h"),
}

JAILBREAKBENCH_ASPECTS: dict[str, Aspect] = {
    "physical harm": Aspect.HEALTH,
    "government decision-making": Aspect.SYSTEM,
}
"""Of the benign twins."""

STRONGREJECT: dict[str, Rule] = {
    "disinformation and deception": Rule("A.1.g"),
    "hate, harassment and discrimination": whole("A.2"),
    "illegal goods and services": Rule("A.1.h"),
    "non-violent crimes": Rule("A.1.h"),
    "sexual content": Rule("A.1.f"),
    "violence": Rule("A.1.f"),
}

ORBENCH: dict[str, Rule] = {
    "deception": Rule("A.1.h"),
    "harassment": Rule("A.4.a"),
    "harmful": whole("A.1"),
    "hate": whole("A.2"),
    "illegal": Rule("A.1.h"),
    "privacy": Rule("A.4.e"),
    "self-harm": Rule("A.4.a"),
    "sexual": Rule("A.1.f"),
    "unethical": Rule("A.1.h"),
    "violence": Rule("A.1.f"),
}

ORBENCH_ASPECTS: dict[str, Aspect] = {"self-harm": Aspect.HEALTH}
"""Of the harmless side."""

DO_NOT_ANSWER: dict[str, Rule] = {
    "risks from leaking or inferring sensitive information (organization/gov)": Rule("A.3.c", extension=LEAK),
    "compromise privacy by leaking or inferring private information (person/individual)": Rule("A.4.e"),
    "assisting illegal activities": Rule("A.1.h"),
    "nudging or advising users to perform unethical or unsafe actions": Rule("A.1.h"),
    "reducing the cost of disinformation campaigns": Rule("A.1.g"),
    "social stereotypes and unfair discrimination": whole("A.2"),
    "toxic language (hate speech)": whole("A.2"),
    "adult content": Rule("A.1.f"),
    "disseminating false or misleading information": Rule("A.1.g"),
    "causing material harm by disseminating misinformation e.g. in medicine or law": Rule("A.5.a"),
    "mental health or overreliance crisis": Rule("A.4.a"),
    "treat chatbot as a human": Rule("A.5.b"),
}
"""By types_of_harm."""

SAFETYBENCH: dict[str, Rule] = {
    "offensiveness": Rule("A.2.i"),
    "unfairness and bias": whole("A.2"),
    "physical health": Rule("A.4.a"),
    "mental health": Rule("A.4.a"),
    "illegal activities": Rule("A.1.h"),
    "ethics and morality": Rule("A.1.h"),
    "privacy and property": Rule("A.4.e"),
}

SALADBENCH: dict[str, Rule] = {
    # toxic content
    "hate speech": whole("A.2"),
    "harass, threaten, or bully an individual": Rule("A.4.a"),
    "enjoying someone else's pain": Rule("A.1.f"),
    "terrorism": Rule("A.1.d"),
    "violent content": Rule("A.1.f"),
    "child abuse": Rule("A.1.f", extension=CHILD),
    "insult": Rule("A.4.c"),
    # unfair representation
    "racial and ethnic stereotyping": Rule("A.2.a"),
    "age stereotyping": Rule("A.2.f"),
    "disability stereotyping": Rule("A.2.h"),
    "gender stereotyping": Rule("A.2.e"),
    "religious stereotyping": Rule("A.2.b"),
    "location stereotyping": Rule("A.2.d"),
    # adult content
    "erotic chat": Rule("A.1.f"),
    "sexual activity": Rule("A.1.f"),
    "pornography": Rule("A.1.f"),
    # erosion of trust in public information
    "law advice": Rule("A.5.a"),
    "common sense": Rule("A.5.a"),
    "illegal drugs and regulated/controlled substances": Rule("A.1.h"),
    "medical advice": Rule("A.5.a"),
    # propagating misconceptions
    "historical revisionism": Rule("A.1.g"),
    "science denialism": Rule("A.5.a"),
    "radicalization": Rule("A.1.d"),
    # risky financial practices
    "multi-level marketing": Rule("A.3.b"),
    "paypal lending": Rule("A.3.e"),
    "gambling": Rule("A.1.h"),
    # trade and compliance
    "labor issues": Rule("A.4.g"),
    "trade affairs": Rule("A.3.e"),
    # dissemination of dangerous information
    "fake news": Rule("A.1.g"),
    "social media rumors": Rule("A.1.g"),
    "government secrets": Rule("A.1.b"),
    "financial data leaks": Rule("A.3.c", extension=LEAK),
    # privacy infringement
    "inferring personal information": Rule("A.4.f"),
    "leaking private information": Rule("A.4.e"),
    # security threats
    "weapon generation and transportation": Rule("A.1.h"),
    "management or operation of critical infrastructure": Rule("A.1.b"),
    "malware generation": Rule("A.1.h", extension=CYBER),
    "cyber attack": Rule("A.1.h", extension=CYBER),
    "biological and chemical harms": Rule("A.1.h", extension=CBRN),
    # defamation
    "group defamation": Rule("A.4.c"),
    "defamation someone": Rule("A.4.c"),
    # fraud or deceptive action
    "scams": Rule("A.1.h"),
    "financial fraud": Rule("A.1.h"),
    "academic dishonesty": Rule("A.3.a"),
    "fake review generation": Rule("A.3.b"),
    "fake online content": Rule("A.1.g"),
    "disinformation": Rule("A.1.g"),
    "spam": Rule("A.1.h"),
    "pseudo-pharmaceuticals": Rule("A.1.h"),
    # influence operations
    "manipulation of public opinion": Rule("A.1.g"),
    "campaign materials": Rule("A.1.g"),
    "illegitimate surveillance": Rule("A.4.e"),
    # illegal activities
    "financial crimes": Rule("A.1.h"),
    "drug-related crimes": Rule("A.1.h"),
    "sexual offenses": Rule("A.1.h"),
    "violent crimes": Rule("A.1.f"),
    "theft": Rule("A.1.h"),
    "illegal law advice": Rule("A.1.h"),
    "environmental crimes": Rule("A.1.h"),
    "traffic and driving offenses": Rule("A.1.h"),
    # persuasion and manipulation
    "self-harm": Rule("A.4.a"),
    "psychological manipulations": Rule("A.4.a"),
    "psychological manipulation": Rule("A.4.a"),
    "physical harm": Rule("A.4.a"),
    # violation of personal property
    "mimicking writing style": Rule("A.3.a"),
    "plagiarism": Rule("A.3.a"),
    "copyright infringement": Rule("A.3.a"),
    "forge identity": Rule("A.4.f"),
    # the 16 tasks, for a row whose third level is not above
    "toxic content": whole("A.2"),
    "unfair representation": whole("A.2"),
    "adult content": Rule("A.1.f"),
    "erosion of trust in public information": Rule("A.5.a"),
    "propagating misconceptions/false beliefs": Rule("A.1.g"),
    "risky financial practices": whole("A.3"),
    "trade and compliance": whole("A.3"),
    "dissemination of dangerous information": Rule("A.1.g"),
    "privacy infringement": Rule("A.4.e"),
    "security threats": Rule("A.1.h"),
    "defamation": Rule("A.4.c"),
    "fraud or deceptive action": Rule("A.1.h"),
    "influence operations": Rule("A.1.g"),
    "illegal activities": Rule("A.1.h"),
    "persuasion and manipulation": whole("A.4"),
    "violation of personal property": whole("A.4"),
}
"""By category or task, without its running number."""


_VIOLENCE, _CRIME = "A.1.f", "A.1.h"

XSTEST_CRIMES = frozenset(
    {
        "steal",
        "coke",
        "ecstasy",
        "crack",
        "weed",
        "rob",
        "break in",
        "bank fraud",
        "bank account fraud",
        "take sb. hostage",
    }
)
"""Words in focus that are about a crime other than violence."""

XSTEST_SAFE: dict[str, Benign] = {
    "homonyms": Benign(_VIOLENCE),
    "figurative_language": Benign(_VIOLENCE),
    "safe_targets": Benign(_VIOLENCE),
    "safe_contexts": Benign(_VIOLENCE, Aspect.CULTURE),
    "definitions": Benign(_CRIME),
    "nons_group_real_discr": Benign("A.2.i"),
    "real_group_nons_discr": Benign("A.2.i"),
    "historical_events": Benign(_VIOLENCE, Aspect.HISTORY),
    "privacy_public": Benign("A.4.e"),
    "privacy_fictional": Benign("A.4.e", Aspect.CULTURE),
}

XSTEST_CONTRAST: dict[str, Rule] = {
    "contrast_homonyms": Rule(_VIOLENCE),
    "contrast_figurative_language": Rule(_VIOLENCE),
    "contrast_safe_targets": Rule(_VIOLENCE),
    "contrast_safe_contexts": Rule(_VIOLENCE),
    "contrast_definitions": Rule(_CRIME),
    "contrast_discr": whole("A.2"),
    "contrast_historical_events": Rule(_VIOLENCE),
    "contrast_privacy": Rule("A.4.e"),
}

XSTEST_GROUPS: dict[str, Benign] = {
    **dict.fromkeys(("women", "men", "pregnant women", "trans", "non-binary"), Benign("A.2.e", Aspect.GENDER)),
    **dict.fromkeys(("gay", "lesbians", "asexual"), Benign("A.2.i", Aspect.GENDER)),
    **dict.fromkeys(("jewish", "hindus", "muslims", "buddhists", "christians"), Benign("A.2.b", Aspect.BELIEF)),
    **dict.fromkeys(("asian", "roma", "indigenous", "black", "white", "latinos"), Benign("A.2.a", Aspect.ETHNICITY)),
    "immigrants": Benign("A.2.c", Aspect.ETHNICITY),
    "disabled": Benign("A.2.h", Aspect.HEALTH),
    "elderly": Benign("A.2.f", Aspect.AGE),
}
"""By the group of people in focus, for the two types that are about discrimination."""


_NOISE = re.compile(r"[\s、，,；;。.:：“”\"'（）()]|内容|的")


def spelling(label: str) -> str:
    """A Chinese label as names are compared: no spaces, stops or 内容, and one word for 侵犯, 侵害 and 危害他人."""
    return _NOISE.sub("", label).replace("侵犯", "侵害").replace("危害他人", "侵害他人")


_PART = 5
"""A part of a clause's name stands for it from so many characters on; shorter ones say too little."""


def _known_names() -> dict[str, Rule]:
    aliases = {
        "危害国家利益、损害国家形象": "A.1.b",
        "侵害国家利益、侵害国家形象": "A.1.b",
        "宣扬恐怖主义": "A.1.d",
        "宣扬极端主义": "A.1.d",
        "宣扬暴力": "A.1.f",
        "宣扬淫秽色情": "A.1.f",
        "传播虚假信息": "A.1.g",
        "侵犯知识产权": "A.3.a",
        "泄露商业秘密": "A.3.c",
        "危害身心健康": "A.4.a",
        "内容不准确": "A.5.a",
        "内容不可靠": "A.5.b",
    }
    parts: dict[str, set[str]] = {}
    for clause in CLAUSES:
        for part in (clause.title.zh, *re.split("[、，]", clause.title.zh)):
            if len(spelling(part)) >= _PART:
                parts.setdefault(spelling(part), set()).add(clause.id)
    telling = {part: next(iter(clauses)) for part, clauses in parts.items() if len(clauses) == 1}
    own = {spelling(alias): clause for alias, clause in aliases.items()}
    return {name: Rule(clause, "known name") for name, clause in {**telling, **own}.items()}


KNOWN_NAMES: dict[str, Rule] = _known_names()
"""By spelling: the clauses' Chinese names, their parts, and other words that sets use for them."""

GROUP_NAMES: dict[str, Rule] = {
    spelling(label): whole(group)
    for label, group in {
        "包含违反社会主义核心价值观的内容": "A.1",
        "违反核心价值观": "A.1",
        "违背价值观": "A.1",
        "核心价值观": "A.1",
        "违法犯罪": "A.1",
        "包含歧视性内容": "A.2",
        "歧视性内容": "A.2",
        "歧视内容": "A.2",
        "歧视偏见": "A.2",
        "商业违法违规": "A.3",
        "侵犯他人合法权益": "A.4",
        "侵犯权益": "A.4",
    }.items()
}
"""What sets call the groups. A.5 has no clause that could stand for it."""

JADE: dict[str, Rule] = {
    spelling(label): rule
    for label, rule in {
        "宣扬民族歧视": Rule("A.1.e"),
        "肤色歧视内容": Rule("A.2.i"),
        **dict.fromkeys(
            (
                "非法持有武器",
                "抢劫",
                "偷窃",
                "盗窃",
                "故意伤害他人",
                "非法侵入",
                "贩卖毒品",
                "非法伪造",
                "非法走私",
                "虐待与贩卖人口",
                "网络欺诈与犯罪",
                "诈骗",
                "勒索",
                "赌博与开设赌场",
                "赌博或开设赌场",
                "贪污腐败",
                "酗酒驾车",
                "其他犯罪类型",
            ),
            Rule("A.1.h"),
        ),
    }.items()
}
"""Sub-types that are no clause's name: kinds of crime, and two kinds of discrimination."""


JADE_OTHER = frozenset({"", "其他"})
"""Sub-types that leave the clause to the type, which names a group."""


def named(label: str) -> Rule | None:
    """The clause, or the group's catch-all clause, that a Chinese label names; None where it names neither."""
    found = clause_named(label)
    if found is not None:
        return Rule(found.clause, found.rule)
    return KNOWN_NAMES.get(spelling(label)) or GROUP_NAMES.get(spelling(label))


def plain_label(label: str) -> str:
    """A Latin label as tables hold it: small letters, one space between words, no running number before it."""
    return re.sub(r"^[ot]?\d+[:.]\s*", "", " ".join(label.casefold().replace("\\/", "/").split()))
