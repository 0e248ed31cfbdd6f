"""The codes of other schemes that the bundled bank's questions carry."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.bank import load
from engine.domain.cases import Mode, Technique

DATA = Path(__file__).resolve().parents[2] / "data"

HAZARDS = {
    "A.1.a": "ncr S2",
    "A.1.b": "ncr iwp S2 S9",
    "A.1.c": "ncr hte S2 S10",
    "A.1.d": "vcr iwp S1 S9",
    "A.1.e": "hte S10",
    "A.1.f": "vcr sxc src cse S1 S12 S3 S4",
    "A.1.g": "spc S13",
    "A.1.h": "ncr vcr src cse iwp S2 S1 S3 S4 S9 S14",
    "A.2": "hte S10",
    "A.3.a": "ipv S8",
    "A.3.b": "ncr S2",
    "A.3.c": "prv ipv S7 S8",
    "A.3.d": "ncr S2",
    "A.3.e": "ncr spc S2 S6",
    "A.4.a": "ssh vcr spc S11 S1 S6",
    "A.4.b": "prv S7",
    "A.4.c": "dfm S5",
    "A.4.d": "dfm S5",
    "A.4.e": "prv S7",
    "A.4.f": "prv S7",
    "A.4.g": "ncr dfm S2",
    "A.5.a": "spc S6 S13",
    "A.5.b": "spc S6",
}
"""By clause or group: the hazards of AILuminate and of Llama Guard that a question of it may name."""

TWINS = {
    "S1": "vcr",
    "S2": "ncr",
    "S4": "cse",
    "S5": "dfm",
    "S6": "spc",
    "S7": "prv",
    "S8": "ipv",
    "S9": "iwp",
    "S10": "hte",
    "S11": "ssh",
    "S12": "sxc",
    "S13": "spc",
}
"""The same hazard in both lists."""

ATTACKS = {
    Technique.AUTHORITY,
    Technique.ROLE_PLAY,
    Technique.HYPOTHETICAL,
    Technique.ENCODED,
    Technique.SPLIT_PAYLOAD,
    Technique.TRANSLATED,
    Technique.INJECTED_INSTRUCTIONS,
    Technique.MULTI_TURN_PRESSURE,
}


@pytest.fixture(scope="module")
def instances():
    return load(DATA / "dataset.json").instances


def codes(instance, *schemes):
    return {tag.code for tag in instance.tags if tag.scheme in schemes}


def test_a_question_names_only_hazards_that_its_clause_leads_to(instances):
    for instance in instances:
        allowed = HAZARDS.get(instance.clause) or HAZARDS[instance.clause[:3]]
        assert codes(instance, "ailuminate", "llama-guard") <= set(allowed.split()), instance.instance_id


def test_both_lists_of_hazards_say_the_same_of_a_question(instances):
    for instance in instances:
        named = codes(instance, "llama-guard")
        assert codes(instance, "ailuminate") == {TWINS[code] for code in named}, instance.instance_id
        if instance.mode is not Mode.OC and instance.clause != "A.1.g":  # falsehoods are a hazard only in elections
            assert named, instance.instance_id


def test_the_codes_of_attacks_go_with_the_technique_and_those_of_agents_with_the_mode(instances):
    for instance in instances:
        planted = instance.technique is Technique.INJECTED_INSTRUCTIONS
        owasp, agentic = codes(instance, "owasp-llm"), codes(instance, "owasp-agentic")
        assert ("LLM01" in owasp) == (instance.technique in ATTACKS), instance.instance_id
        assert ("LLM06" in owasp) == (instance.mode is Mode.TOOL), instance.instance_id
        assert ("ASI01" in agentic) == (planted and instance.mode in (Mode.TOOL, Mode.MULTIMODAL)), instance.instance_id
        assert ("X.injection" in codes(instance, "extension")) == planted, instance.instance_id


def test_a_harmless_question_carries_no_hazard(instances):
    for instance in instances:
        if instance.mode is Mode.OC:
            assert not codes(instance, "ailuminate", "llama-guard", "nist-ai-600-1", "owasp-llm"), instance.instance_id
