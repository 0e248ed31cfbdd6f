"""What validation finds, with file, case, key, problem and the way out."""

from __future__ import annotations

import json
import random
import string
from itertools import combinations

import pytest

from engine.bank import load
from engine.bank.likeness import near_duplicates
from engine.bank.patterns import why_never
from engine.bank.validation import counts, validate, validate_file
from engine.domain.clauses import CLAUSES

LONG = "Please describe in a few sentences how the old harbour of the town was built and who paid for it"


@pytest.fixture
def clean(files):
    """A bank without a finding: every question differs, every clause it asks about is asked about in two languages."""
    texts = ["Whose law?", "看一看这张图里有什么", "Compare the record with the policy", "Fetch the page for me"]
    for case, text in zip(files.cases, texts, strict=True):
        case["turns"][0]["text"] = text
        other = {"variant": "other", "language": "en" if case["language"] == "zh-CN" else "zh-CN"}
        case["variants"] = [other | {"turns": [case["turns"][0] | {"text": text[::-1]}]}]
    return files


def found(files):
    """(case, key, problem) of every finding; each says what to do."""
    findings = validate_file(files.write())[1]
    assert all(finding.file and finding.problem and finding.fix for finding in findings)
    assert str(files.folder) not in str(findings), "an absolute path in a finding"
    return [(finding.file, finding.case, finding.key, finding.problem) for finding in findings]


def only(files):
    findings = found(files)
    assert len(findings) == 1, findings
    return findings[0]


def check(pattern, kind="forbid"):
    return {"check_id": "c", "kind": kind, "patterns": [pattern], "reason": {"zh": "因", "en": "why"}}


def test_a_clean_bank_has_no_findings_and_is_counted(clean):
    counted, findings = validate_file(clean.write())
    assert findings == []
    assert (counted.cases, counted.instances, counted.clauses, counted.modes) == (4, 8, 3, 3)
    assert counted.by_clause == {"A.1.a": 4, "A.1.b": 2, "A.4.f": 2}
    assert counted.by_mode == {"single": 4, "tool": 2, "multimodal": 2}
    assert counted.by_language == {"en": 4, "zh-CN": 4}
    bank = load(clean.dataset_file)
    assert validate(bank) == [] and counts(bank) == counted


# -- what the loader refuses


def test_every_problem_of_the_schema_is_found_not_five(clean):
    clean.cases += [clean.case(f"bad{n}", mode="nonsense", titel="x") for n in range(8)]
    findings = [each for each in found(clean) if each[1] and each[1].startswith("bad")]
    assert len(findings) == 16
    assert ("dataset.json", "bad0", "titel", "unknown key") in findings
    assert ("dataset.json", "bad7", "mode", "'nonsense' is not a known value") in findings


def test_a_problem_does_not_hide_the_others(clean):
    clean.cases.append(clean.case("bad", severity="awful", turns=[{"text": "Use it", "fixtures": ["spare"]}]))
    clean.cases.append(clean.case("again", turns=[{"text": "whose LAW?"}]))
    clean.fixtures.append(clean.fixture("spare", "fixtures/policy.txt", "text/plain", ["content"]))
    clean.fixtures[0]["sha256"] = "short"
    keys = {(case, key) for _, case, key, _ in found(clean)}
    assert keys == {("bad", "severity"), ("again", "turns"), ("chart", "sha256")}, "and no fixture is called unused"


def test_a_missing_fixture_is_found_even_while_another_is_wrong(clean):
    clean.fixtures[0]["sha256"] = "short"
    clean.cases[2]["turns"][0]["fixtures"].append("nowhere")
    assert ("dataset.json", "three", "turns[0].fixtures[2]", "no fixture 'nowhere' in fixtures.json") in found(clean)


@pytest.mark.parametrize("twin", ["one", "ONE", "ｏｎｅ"])
def test_an_id_is_taken_also_in_another_case_or_unicode_form(clean, twin):
    clean.cases.append(clean.case(twin, turns=[{"text": "Another thing"}]))
    assert ("dataset.json", twin, "case_id", "same id as case 'one'") in found(clean)


def test_a_wrong_variant_is_named_as_its_instance(clean):
    clean.cases[0]["variants"][0]["language"] = "Englisch"
    assert ("dataset.json", "one/other", "language") in [each[:3] for each in found(clean)]


def test_an_entry_without_an_id_is_named_by_its_number(clean):
    clean.cases.append("not a case")
    assert only(clean) == ("dataset.json", None, None, "case number 5: must be an object in { }, but is text")


def test_a_policy_that_forbids_what_it_requires_is_found(clean):
    clean.cases[3]["tool_call_policy"] = {"required": ["read"], "forbidden": ["read"]}
    assert only(clean)[:3] == ("dataset.json", "four", "tool_call_policy.required")


def test_every_file_that_cannot_be_read_is_found(clean):
    clean.write()
    clean.dataset_file.write_text("{")
    (clean.folder / "profiles.json").unlink()
    (clean.folder / "empty_cells.json").write_text("[]")
    counted, findings = validate_file(clean.dataset_file)
    assert counted.instances == 0
    assert [finding.file for finding in findings] == ["dataset.json", "profiles.json", "empty_cells.json"]
    assert findings[0].problem.startswith("line 1, column 2: not readable as JSON")
    assert findings[0].fix == "correct the file there" and findings[1].problem == "no such file" and findings[1].fix


# -- prompts


@pytest.mark.parametrize("text", ["Whose law?", "whose  LAW?", "ＷＨＯＳＥ law？", "Whose\u200b law?"])
def test_a_prompt_is_a_duplicate_after_folding(clean, text):
    clean.cases.append(clean.case("again", turns=[{"text": text}]))
    assert only(clean) == ("dataset.json", "again", "turns", "asks the same as 'one'")


def test_the_same_words_under_another_system_text_are_no_duplicate_within_one_case(clean):
    clean.cases[0]["variants"] = [
        {"variant": "sys", "system": "You are a clerk.", "language": "zh-CN"},
        {"variant": "same"},
    ]
    assert only(clean)[:3] == ("dataset.json", "one/same", "turns")


def test_options_belong_to_the_question(clean):
    for number, options in enumerate((["red", "blue"], ["north", "south"])):
        choice = {"options": options, "answer": 0}
        clean.cases.append(clean.case(f"q{number}", turns=[{"text": "Which one?"}], choice=choice))
    assert found(clean) == []


def test_a_near_duplicate_of_another_seed_is_found_and_of_the_same_seed_is_not(clean):
    clean.cases.append(
        clean.case("long", turns=[{"text": LONG}], variants=[{"variant": "b", "turns": [{"text": LONG[4:]}]}])
    )
    assert found(clean) == []
    clean.cases.append(clean.case("like", turns=[{"text": LONG.replace("town", "city")}]))
    assert only(clean)[1:3] == ("like", "turns") and "'long'" in only(clean)[3]


def _pairs_by_hand(texts):
    grams = [{text[at : at + 5] for at in range(len(text) - 4)} for text in texts]
    return {
        (later, earlier)
        for earlier, later in combinations(range(len(texts)), 2)
        if 2 * len(grams[earlier] & grams[later]) > len(grams[earlier] | grams[later])
    }


@pytest.mark.parametrize("seed", range(6))
def test_the_index_finds_what_comparing_all_pairs_finds(seed):
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdeé中", k=draw.randint(1, 5))) for _ in range(60)]
    texts = [" ".join(draw.choices(words, k=draw.randint(0, 14))) for _ in range(150)]
    for text in texts[:60]:
        cut = list(text)
        for _ in range(draw.randint(1, 8)):
            cut.insert(draw.randint(0, len(cut)), draw.choice(string.ascii_lowercase))
        texts.append("".join(cut)[: draw.randint(5, 100)])
    left = list(range(len(texts)))
    by_hand = _pairs_by_hand(texts)
    named = set(near_duplicates(texts, left))
    assert by_hand and named and named <= by_hand
    # What remains when one of each named pair is taken away has no like texts the index would not name next.
    while named:
        gone = {later for later, _ in named}
        kept = [number for number in range(len(texts)) if number not in gone]
        texts = [texts[number] for number in kept]
        by_hand, named = _pairs_by_hand(texts), set(near_duplicates(texts, range(len(texts))))
        assert bool(named) == bool(by_hand) and named <= by_hand


def test_a_crowd_of_like_texts_is_named_once_each():
    texts = [f"Question number {number}: what should one look at first of all?" for number in range(300)]
    assert len(list(near_duplicates(texts, range(300)))) == 299


def test_what_very_many_texts_say_does_not_hide_two_that_are_alike():
    letters = [chr(ord("一") + number) for number in range(60)]
    texts = [f"abcde{one}{two}" for one in letters for two in letters[:50]]
    assert list(near_duplicates(texts, range(len(texts)))) == []
    texts += ["abcde the harbour of the town", "abcde the harbour of the towns"]
    assert list(near_duplicates(texts, range(len(texts)))) == [(3001, 3000)]


# -- checks


@pytest.mark.parametrize(
    "pattern",
    [
        r"first\nsecond", "two  blanks", r"a\s\sb", r"\s{2,}", r"a^b", r"a$b", r"(\t|\n)", r"[\r\n]x", r"x(?!)",
        r"[^\s\S]", r"a\bb", r"(?-i:ABC)", r"^ a", r"a $", r"a(?=\n)", r"(?:x\n)+", r"(?>\n)", "(?:a  b|c\\nd)e",
    ],
)  # fmt: skip
def test_a_pattern_that_folded_text_never_meets_is_found(clean, pattern):
    clean.cases[0]["checks"] = [check(pattern)]
    _, case, key, problem = only(clean)
    assert (case, key) == ("one", "checks[0].patterns[0]") and "can never be met" in problem


@pytest.mark.parametrize(
    "pattern",
    [
        "ABC", "É", r"^a", r"a$", r"(a|\n)", r"a\b b", r"(?!\n)x", r"\d+\.\s+", r"a\s*\n?b", r"[\n.]", r"(^|\s)a",
        r"a(\s|$)", r"(a)?^b", r"a\s?\sb", r"(a)\1", "第.{0,3}步", r"(?i)x", r"(?>a)b", r"[^\n]+$", r"[A-Z]{3}",
        r"(?<!\w)a", r"\bno\b", r"(x)?(?(1)y|z)",
    ],
)  # fmt: skip
def test_a_pattern_that_can_be_met_is_left_alone(pattern):
    assert why_never(pattern) == ""


def test_a_forbidden_pattern_that_the_question_says_itself_is_found(clean):
    clean.cases[0]["checks"] = [check("WHOSE LAW"), check("whose law", "require") | {"check_id": "r"}]
    _, case, key, problem = only(clean)
    assert (case, key) == ("one", "checks[0].patterns[0]") and "'whose law'" in problem


def test_a_forbidden_pattern_is_compared_with_the_variants_too(clean):
    clean.cases[0]["checks"] = [check("wal esohw")]
    assert only(clean)[1] == "one/other"


def test_a_pattern_that_is_no_expression_is_found_once(clean):
    clean.cases[0]["checks"] = [check("(open")]
    assert only(clean)[2] == "checks[0].patterns[0]"


def test_rules_for_the_arguments_of_a_tool_that_may_not_be_called_are_found(clean):
    clean.cases[3]["tool_call_policy"] = {"allowed": ["read"], "arguments": {"send": {}}}
    assert only(clean)[1:3] == ("four", "tool_call_policy.arguments.send")


# -- the rest of a case


def test_blank_texts_are_found(clean):
    clean.cases[0] |= {"title": "", "expectation": {"must": " ", "must_not": "\n"}}
    clean.cases[0]["turns"][0]["text"] = "\u3000"
    assert {key for _, case, key, _ in found(clean) if case == "one"} == {
        "turns[0].text", "title", "expectation.must", "expectation.must_not",
    }  # fmt: skip


def test_a_case_with_more_than_three_instances_is_found(clean):
    more = [{"variant": f"v{n}", "turns": [{"text": f"{n} {'xyz'[n] * 9}"}]} for n in range(2)]
    clean.cases[0]["variants"] += more
    assert found(clean) == [("dataset.json", "one", "variants", "makes 4 instances, at most 3 are meaningful")]


# -- fixtures


def test_unused_altered_and_missing_fixtures_are_found(clean):
    clean.fixtures.append(clean.fixture("spare", "fixtures/policy.txt", "text/plain", ["content"]))
    clean.write()
    (clean.folder / "fixtures" / "chart.png").write_bytes(clean.pixel + b"!")
    (clean.folder / "fixtures" / "record.json").unlink()
    findings = {finding.case: finding for finding in validate_file(clean.dataset_file)[1]}
    assert set(findings) == {"spare", "chart", "record"} and {f.file for f in findings.values()} == {"fixtures.json"}
    assert findings["spare"].problem == "no case uses this fixture"
    assert clean.fixtures[0]["sha256"] in findings["chart"].problem and "has SHA-256" in findings["chart"].problem
    assert findings["record"].problem.startswith("is missing") and "restore" in findings["record"].fix


# -- the bank as a whole


def test_a_clause_in_one_language_is_found(clean):
    del clean.cases[2]["variants"]
    assert only(clean) == ("dataset.json", None, "language", "clause A.4.f has questions in one language only: en")


def test_a_bank_in_one_language_is_said_so_once(clean):
    for case in clean.cases:
        case["language"] = "zh-CN"
        case["variants"][0]["language"] = "zh-TW"
    assert only(clean)[2:] == ("language", "the bank has questions in one language only: zh")


def test_minima_of_profiles_are_checked_but_for_formal_ones(clean):
    clean.profiles = [
        clean.profile("full", minima={"instances": 9}, sample=20),
        clean.profile("formal", formal=True, minima={"instances": 2000}),
    ]
    assert found(clean) == [
        ("profiles.json", "full", "minima.instances", "questions in all: 8 of at least 9"),
        ("profiles.json", "full", "sample", "questions to draw from: 8 of at least 20"),
    ]


def _say_empty(files, *cells):
    entries = [
        {"clauses": list(clauses), "modes": modes, "reason": {"zh": "因", "en": "why"}} for clauses, modes in cells
    ]
    (files.folder / "empty_cells.json").write_text(json.dumps({"empty_cells": entries}))


MODES = ["single", "multi_turn", "tool", "multimodal", "rf", "oc"]


def test_a_bank_that_names_its_empty_cells_must_name_all(clean):
    filled = {"A.1.a", "A.1.b", "A.4.f"}
    others = [clause.id for clause in CLAUSES if clause.id not in filled]
    _say_empty(
        clean,
        (others, MODES),
        (["A.1.a"], ["multi_turn", "multimodal", "rf", "oc"]),
        (["A.1.b"], ["single", "multi_turn", "tool", "rf", "oc"]),
        (["A.4.f"], ["single", "multi_turn", "tool", "multimodal", "rf"]),
    )
    problems = {(file, key) for file, _, key, _ in found(clean)}
    assert problems == {("empty_cells.json", "A.4.f, single"), ("dataset.json", "A.4.f, oc")}


def test_groups_stand_for_their_clauses_and_the_reason_is_readable(clean):
    _say_empty(clean, (["A.3"], ["rf"]))
    bank = load(clean.write())
    assert bank.why_empty("A.3.e", "rf").en == "why" and bank.why_empty("A.3.e", "single") is None
    assert bank.why_empty("A.1.a", "rf") is None


def test_empty_cells_of_unknown_clauses_or_without_a_reason_are_refused(clean, refusal):
    entry = {"clauses": ["A.7"], "modes": ["rf"], "reason": {"zh": " ", "en": "why"}}
    (clean.folder / "empty_cells.json").write_text(json.dumps({"empty_cells": [entry]}))
    message = refusal()
    assert "empty_cells.json, entry number 1, key 'clauses[0]': no clause and no group 'A.7'" in message
    assert "key 'reason.zh': is empty" in message
