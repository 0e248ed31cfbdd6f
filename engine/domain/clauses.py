"""The 31 safety clauses of GB/T 45654-2025 (and TC260-003-2024), Appendix A.

Chinese titles are the standard's own names; English titles and both short titles are ours.
"""

from __future__ import annotations

from enum import StrEnum

from engine.domain.base import Localized, Model


class Clause(Model):
    """One of the 31 risks. `group` is `A.1` .. `A.5`."""

    id: str
    group: str
    title: Localized
    short: Localized


GROUPS: dict[str, Localized] = {
    "A.1": Localized(zh="违反社会主义核心价值观", en="Against core values"),
    "A.2": Localized(zh="歧视性内容", en="Discrimination"),
    "A.3": Localized(zh="商业违法违规", en="Commercial violations"),
    "A.4": Localized(zh="侵犯他人合法权益", en="Rights of others"),
    "A.5": Localized(zh="特定服务安全需求", en="Special service needs"),
}


def _clause(clause_id: str, zh: str, en: str, short_zh: str, short_en: str) -> Clause:
    return Clause(
        id=clause_id,
        group=clause_id[:3],
        title=Localized(zh=zh, en=en),
        short=Localized(zh=short_zh, en=short_en),
    )


CLAUSES: tuple[Clause, ...] = (
    _clause(
        "A.1.a",
        "煽动颠覆国家政权、推翻社会主义制度",
        "Calls to overthrow the state or its political system",
        "颠覆政权",
        "Subversion",
    ),
    _clause(
        "A.1.b",
        "危害国家安全和利益、损害国家形象",
        "Harm to national security, interests or image",
        "国家安全",
        "National security",
    ),
    _clause(
        "A.1.c",
        "煽动分裂国家、破坏国家统一和社会稳定",
        "Calls for secession; undermining unity or public order",
        "分裂国家",
        "Secession",
    ),
    _clause("A.1.d", "宣扬恐怖主义、极端主义", "Promotion of terrorism or extremism", "恐怖极端", "Terrorism"),
    _clause("A.1.e", "宣扬民族仇恨", "Promotion of hatred between ethnic groups", "民族仇恨", "Ethnic hatred"),
    _clause(
        "A.1.f",
        "宣扬暴力、淫秽色情",
        "Promotion of violence, obscene or pornographic content",
        "暴力色情",
        "Violence, obscenity",
    ),
    _clause("A.1.g", "传播虚假有害信息", "Spreading harmful falsehoods", "虚假信息", "Harmful falsehoods"),
    _clause(
        "A.1.h",
        "其他法律、行政法规禁止的内容",
        "Anything else that laws or regulations forbid",
        "其他违法",
        "Other unlawful content",
    ),
    _clause("A.2.a", "民族歧视内容", "Discrimination by ethnicity", "民族歧视", "Ethnicity"),
    _clause("A.2.b", "信仰歧视内容", "Discrimination by belief or religion", "信仰歧视", "Belief"),
    _clause("A.2.c", "国别歧视内容", "Discrimination by country of origin", "国别歧视", "Country"),
    _clause("A.2.d", "地域歧视内容", "Discrimination by region", "地域歧视", "Region"),
    _clause("A.2.e", "性别歧视内容", "Discrimination by gender", "性别歧视", "Gender"),
    _clause("A.2.f", "年龄歧视内容", "Discrimination by age", "年龄歧视", "Age"),
    _clause("A.2.g", "职业歧视内容", "Discrimination by occupation", "职业歧视", "Occupation"),
    _clause("A.2.h", "健康歧视内容", "Discrimination by health or disability", "健康歧视", "Health"),
    _clause("A.2.i", "其他方面歧视内容", "Discrimination on other grounds", "其他歧视", "Other grounds"),
    _clause("A.3.a", "侵犯他人知识产权", "Infringing intellectual property", "知识产权", "Intellectual property"),
    _clause("A.3.b", "违反商业道德", "Breaching business ethics", "商业道德", "Business ethics"),
    _clause("A.3.c", "泄露他人商业秘密", "Disclosing trade secrets", "商业秘密", "Trade secrets"),
    _clause(
        "A.3.d",
        "利用算法、数据、平台等优势，实施垄断和不正当竞争行为",
        "Monopoly or unfair competition using algorithm, data or platform advantage",
        "垄断竞争",
        "Unfair competition",
    ),
    _clause("A.3.e", "其他商业违法违规行为", "Other commercial violations", "其他商业违法", "Other commercial"),
    _clause("A.4.a", "危害他人身心健康", "Harm to physical or mental health", "身心健康", "Health harm"),
    _clause("A.4.b", "侵害他人肖像权", "Infringing portrait (likeness) rights", "肖像权", "Likeness"),
    _clause("A.4.c", "侵害他人名誉权", "Infringing reputation rights", "名誉权", "Reputation"),
    _clause("A.4.d", "侵害他人荣誉权", "Infringing honour rights", "荣誉权", "Honour"),
    _clause("A.4.e", "侵害他人隐私权", "Infringing privacy", "隐私权", "Privacy"),
    _clause(
        "A.4.f", "侵害他人个人信息权益", "Infringing personal-information rights", "个人信息", "Personal information"
    ),
    _clause("A.4.g", "侵犯他人其他合法权益", "Infringing other lawful rights", "其他权益", "Other rights"),
    _clause(
        "A.5.a",
        "内容不准确，严重不符合科学常识或主流认知",
        "Inaccurate: seriously against science or accepted knowledge",
        "不准确",
        "Inaccurate",
    ),
    _clause(
        "A.5.b",
        "内容不可靠，无法对使用者形成帮助",
        "Unreliable: no gross error, yet of no help to the user",
        "不可靠",
        "Unreliable",
    ),
)

BY_ID: dict[str, Clause] = {clause.id: clause for clause in CLAUSES}

REFUSAL_GROUPS = ("A.1", "A.2")
"""The 17 clauses of these groups alone carry should-refuse (`rf`) instances."""


class Aspect(StrEnum):
    """The 13 aspects of the standard's should-not-refuse bank; every `oc` case carries one."""

    SYSTEM = "system"
    BELIEF = "belief"
    IMAGE = "image"
    CULTURE = "culture"
    CUSTOMS = "customs"
    ETHNICITY = "ethnicity"
    GEOGRAPHY = "geography"
    HISTORY = "history"
    HEROES = "heroes"
    GENDER = "gender"
    AGE = "age"
    OCCUPATION = "occupation"
    HEALTH = "health"
