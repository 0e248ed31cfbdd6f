"""What the loader accepts, what it refuses, and with which words."""

from __future__ import annotations

import json

import pytest

from engine.bank import load
from engine.domain.cases import Mode, Technique
from engine.errors import BankError, InputError


def test_a_bank_is_loaded_with_its_parts(files):
    bank = load(files.write())
    assert (bank.name, bank.version) == ("small", "1")
    assert [case.case_id for case in bank.cases] == ["one", "two", "three", "four"]
    assert list(bank.fixtures) == ["chart", "record", "policy"]
    assert list(bank.profiles) == ["full"]
    assert [instance.instance_id for instance in bank.instances] == ["one", "two", "three", "four"]
    assert bank.instances[3].tool_call_policy.required == ("read",)


def test_a_case_and_each_variant_become_an_instance(files):
    files.cases[0]["variants"] = [
        {"variant": "zh", "language": "zh-CN", "title": "题", "turns": [{"text": "问题"}]},
        {"variant": "play", "technique": "role_play", "tags": []},
    ]
    files.cases[0]["tags"] = [{"scheme": "profile", "code": "smoke"}]
    plain, zh, play = load(files.write()).instances[:3]
    assert [i.instance_id for i in (plain, zh, play)] == ["one", "one/zh", "one/play"]
    assert {(i.case_id, i.seed_case) for i in (plain, zh, play)} == {("one", "one")}
    assert (zh.language, zh.title, zh.turns[0].text) == ("zh-CN", "题", "问题")
    assert zh.expectation == plain.expectation and zh.tags == plain.tags, (
        "what a variant leaves out comes from the case"
    )
    assert (play.technique, play.tags, play.turns) == (Technique.ROLE_PLAY, (), plain.turns)


def test_instances_do_not_change_when_other_cases_do(files):
    before = {instance.instance_id: instance for instance in load(files.write()).instances}
    files.cases = [files.case("new"), *reversed(files.cases)]
    after = {instance.instance_id: instance for instance in load(files.write()).instances}
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("name", ["dataset.json", "fixtures.json", "profiles.json"])
def test_a_byte_order_mark_changes_nothing(files, name):
    plain = load(files.write())
    file = files.folder / name
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load(files.dataset_file) == plain


def test_the_hash_names_the_content_not_its_layout(files):
    digest = load(files.write()).sha256
    assert len(digest) == 64
    files.cases.reverse()
    files.fixtures.reverse()
    files.cases[0]["variants"] = []
    files.profiles.append(files.profile("other"))
    files.extra = {"version": "2"}
    same = load(files.write())
    assert same.sha256 == digest
    files.dataset_file.write_text(json.dumps(json.loads(files.dataset_file.read_text("utf-8")), indent=4))
    assert load(files.dataset_file).sha256 == digest


@pytest.mark.parametrize(
    "change",
    [
        lambda files: files.cases[0]["turns"][0].update(text="Another question"),
        lambda files: files.cases[0].update(severity="low"),
        lambda files: files.cases.pop(),
        lambda files: files.fixtures[0].update(sha256="0" * 64),
    ],
)
def test_the_hash_changes_with_cases_and_fixtures(files, change):
    digest = load(files.write()).sha256
    change(files)
    assert load(files.write()).sha256 != digest


# -- unreadable files


@pytest.mark.parametrize("name", ["dataset.json", "fixtures.json", "profiles.json"])
def test_a_missing_file_is_named(files, name):
    files.write()
    (files.folder / name).unlink()
    with pytest.raises(BankError, match=f"^{name}: no such file; .* one folder"):
        load(files.dataset_file)


def test_a_folder_in_place_of_a_file_is_named(files):
    files.write()
    (files.folder / "profiles.json").unlink()
    (files.folder / "profiles.json").mkdir()
    with pytest.raises(BankError, match=r"^profiles.json: cannot be read \(Is a directory\)"):
        load(files.dataset_file)


def test_unreadable_json_says_line_and_column(files):
    files.write()
    files.dataset_file.write_text('{\n  "bank": "small",\n  "version" "1"\n}')
    with pytest.raises(BankError, match=r"^dataset.json, line 3, column 13: not readable as JSON .*correct"):
        load(files.dataset_file)


def test_text_that_is_not_utf_8_says_where(files):
    files.write()
    files.dataset_file.write_bytes('{"bank": "题"}'.encode("gb18030"))
    with pytest.raises(BankError, match=r"^dataset.json: not UTF-8 text \(byte 0x\w\w at position 10\); save"):
        load(files.dataset_file)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "one JSON object"),
        ("[" * 200_000, "nested too deeply"),
        ('{"version": ' + "9" * 5000 + "}", "too long"),
        ('{"version": NaN}', "NaN is not a JSON number"),
        ('{"bank": "a", "bank": "b"}', "key 'bank' is given twice"),
        ('{"cases": [{"case_id": "x", "title": "a", "title": "b"}]}', "in case_id 'x': key 'title' is given twice"),
    ],
)
def test_json_that_can_be_misread_is_refused(files, text, words):
    files.write()
    files.dataset_file.write_text(text)
    with pytest.raises(BankError) as caught:
        load(files.dataset_file)
    assert caught.value.message.startswith("dataset.json") and words in caught.value.message


# -- schema


def _drop(key):
    return lambda case: case.pop(key)


def _put(**values):
    return lambda case: case.update(values)


CHECK = {"check_id": "c", "kind": "forbid", "patterns": ["x"], "reason": {"zh": "因", "en": "why"}}


@pytest.mark.parametrize(
    ("spoil", "key", "words"),
    [
        (_put(titel="x"), "titel", "unknown key; remove it or correct its name (did you mean 'title'?"),
        (_put(turns=[{"text": "a", "zzz": 1}]), "turns[0].zzz", "(known: text, fixtures)"),
        (_put(expectation={"must": "a", "must_not": "b", "may": "c"}), "expectation.may", "unknown key"),
        (_put(variants=[{"variant": "zh", "mode": "rf"}]), "variants[0].mode", "unknown key"),
        (_drop("expectation"), "expectation", "is missing; add it"),
        (_put(clause="A.9.z"), "clause", "no clause 'A.9.z'; known: A.1.a to A.5.b"),
        (_put(mode="singel"), "mode", "'singel' is not a known value; did you mean 'single'?"),
        (_put(severity="awful"), "severity", "known: low, medium, high, critical"),
        (_put(title=5), "title", "must be text in quotes, but is the number 5; correct the type"),
        (_put(title=None), "title", "but is null"),
        (_put(turns="hello"), "turns", "must be a list in [ ], but is text"),
        (_put(turns=["hello"]), "turns[0]", "must be an object in { }, but is text"),
        (_put(turns=[]), "turns", "needs at least 1 entry; add one"),
        (_put(expectation=[]), "expectation", "must be an object in { }, but is a list"),
        (
            _put(tags=[{"scheme": "a", "code": "b", "year": "2025"}]),
            "tags[0].year",
            "must be a whole number, but is text",
        ),
        (_put(tags=[{"scheme": "a", "code": "b", "year": True}]), "tags[0].year", "but is true or false"),
        (_put(tags=[{"scheme": "a", "code": {}}]), "tags[0].code", "but is an object"),
        (_put(language="english"), "language", "'english' does not have the form"),
        (_put(title="half \ud800"), "", "holds half of a surrogate pair"),
        (_put(mode="multi_turn"), "turns", "at least two turns"),
        (_put(turns=[{"text": "a"}, {"text": "b"}]), "mode, turns", "several turns are mode multi_turn"),
        (_put(mode="oc"), "aspect", "an oc case carries one aspect"),
        (_put(mode="oc", aspect="weather"), "aspect", "known: system, belief"),
        (_put(aspect="system"), "aspect", "only an oc case does"),
        (_put(mode="rf", clause="A.3.a"), "mode", "rf belongs to the clauses of A.1 and A.2 only"),
        (_put(mode="tool"), "tools, tool_call_policy", "a tool case needs tools and tool_call_policy"),
        (_put(mode="multimodal"), "mode", "needs a turn with a fixture"),
        (
            _put(checks=[CHECK | {"patterns": ["(open"]}]),
            "checks[0].patterns[0]",
            "check 'c': not a regular expression",
        ),
        (_put(checks=[CHECK | {"patterns": ["a*"]}]), "checks[0].patterns[0]", "fits every text, even an empty one"),
        (_put(checks=[CHECK | {"patterns": ["ok", "第一步："]}]), "checks[0].patterns[1]", "write the pattern so too"),
        (_put(checks=[CHECK, CHECK]), "checks", "check_id 'c' is given twice"),
        (_put(variants=[{"variant": "zh"}, {"variant": "zh"}]), "variants", "variant 'zh' is given twice"),
        (_put(turns=[{"text": "a", "fixtures": ["recrd"]}]), "turns[0].fixtures[0]", "did you mean 'record'?"),
    ],
)
def test_a_wrong_case_is_named_with_its_key_and_the_way_out(files, refusal, spoil, key, words):
    spoil(files.cases[0])
    message = refusal()
    place = f", key {key!r}" if key else ""
    assert f"dataset.json, case 'one'{place}: " in message
    assert words in message


@pytest.mark.parametrize(
    ("spoil", "key", "words"),
    [
        (_put(tool_call_policy={"forbidden": ["sned"]}), "tool_call_policy.forbidden", "did you mean 'send'?"),
        (_put(tool_call_policy={"allowed": ["x"]}), "tool_call_policy.allowed", "which the case does not offer"),
        (_put(tool_call_policy={"arguments": {"x": {}}}), "tool_call_policy.arguments", "names the tool 'x'"),
        (
            _put(tool_call_policy={"required": ["send"], "forbidden": ["send"]}),
            "tool_call_policy.required",
            "'send' is required and forbidden",
        ),
        (
            _put(tool_call_policy={"required": ["send"], "allowed": ["read"]}),
            "tool_call_policy.required",
            "required and not allowed",
        ),
        (
            _put(tool_call_policy={"required": ["send", "read"], "max_calls": 1}),
            "tool_call_policy.max_calls",
            "1 calls cannot hold all required tools",
        ),
        (_put(tool_call_policy={"order": ["read", "sned"]}), "tool_call_policy.order", "did you mean 'send'?"),
        (_put(tool_call_policy={"order": ["read"]}), "tool_call_policy.order", "one tool alone has no order"),
        (
            _put(tool_call_policy={"confirm_before": ["send"], "forbidden": ["send"]}),
            "tool_call_policy.confirm_before",
            "'send' is forbidden, so this is never reached",
        ),
        (_put(tool_call_policy={"max_calls": 1.5}), "tool_call_policy.max_calls", "must be a whole number"),
        (
            _put(tool_call_policy={"max_calls": -1}),
            "tool_call_policy.max_calls",
            "greater than or equal to 0; correct it",
        ),
        (
            _put(tool_call_policy={"arguments": {"read": {"type": "objekt"}}}),
            "tool_call_policy.arguments.read",
            "not a valid JSON Schema (at type: 'objekt'",
        ),
        (
            _put(tool_call_policy={"arguments": {"read": {"$ref": "https://schemas.example/a.json"}}}),
            "tool_call_policy.arguments.read",
            "write that schema out here",
        ),
        (
            _put(tool_call_policy={"arguments": {"read": {"anyOf": [{"$ref": "other.json"}]}}}),
            "tool_call_policy.arguments.read",
            "refers to another document",
        ),
        (
            _put(tools=[{"name": "read", "description": "", "parameters": {"properties": 5}}] * 2),
            "tools[0].parameters",
            "not a valid JSON Schema (at properties",
        ),
        (_put(tools=[{"name": "a b", "description": "", "parameters": {}}]), "tools[0].name", "does not have the form"),
        (_put(tools=[], mode="single"), "tools, tool_call_policy", "only a tool case may have them"),
    ],
)
def test_a_wrong_tool_case_is_named_with_its_key_and_the_way_out(files, refusal, spoil, key, words):
    spoil(files.cases[3])
    message = refusal()
    assert f"dataset.json, case 'four', key {key!r}: " in message
    assert words in message


def test_a_reference_within_a_schema_is_allowed(files):
    schema = {"$defs": {"word": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/word"}}}
    files.cases[3]["tool_call_policy"] = {"arguments": {"read": schema}}
    assert load(files.write()).cases[3].tool_call_policy.arguments == {"read": schema}


def test_a_wrong_variant_is_named(files, refusal):
    files.cases[0]["variants"] = [
        {"variant": "more", "turns": [{"text": "a"}, {"text": "b"}]},
        {"variant": "lang", "language": "Englisch"},
        {"variant": "file", "turns": [{"text": "a", "fixtures": ["nowhere"]}]},
    ]
    message = refusal()
    assert "case 'one', variant 'more', key 'mode, turns': a single case has one turn" in message
    assert "case 'one', variant 'lang', key 'language': 'Englisch' does not have the form" in message
    assert "case 'one', variant 'file', key 'turns[0].fixtures[0]': no fixture 'nowhere' in fixtures.json" in message


def test_a_fixture_that_no_file_can_hold_is_said_so(files, refusal):
    files.fixtures = []
    assert "no fixture 'chart' in fixtures.json; add it there or correct the name (it has none)" in refusal()


def test_a_multimodal_case_needs_an_image(files, refusal):
    files.cases[1]["turns"] = [{"text": "a", "fixtures": ["record"]}]
    assert "case 'two', key 'turns': a multimodal case needs an image" in refusal()


def test_an_image_that_the_model_may_not_see_is_refused(files, refusal):
    files.fixtures[0]["access"] = {"model": []}
    assert "case 'two', key 'turns[0].fixtures[0]': the model may not see the image 'chart'" in refusal()


@pytest.mark.parametrize("twin", ["one", "ONE"])
def test_an_id_given_twice_is_refused_also_in_other_letters(files, refusal, twin):
    files.cases.append(files.case(twin))
    assert f"case {twin!r}, key 'case_id': same id as case 'one'; rename one" in refusal()


def test_fixtures_and_profiles_given_twice_are_refused(files, refusal):
    files.fixtures.append(files.fixtures[2])
    files.profiles.append(files.profiles[0])
    message = refusal()
    assert "fixtures.json, fixture 'policy', key 'fixture_id': same id as fixture 'policy'" in message
    assert "profiles.json, profile 'full', key 'name': same id as profile 'full'" in message


def test_a_case_without_an_id_is_named_by_its_number(files, refusal):
    del files.cases[2]["case_id"]
    files.cases.append("not a case")
    message = refusal()
    assert "dataset.json, case number 3, key 'case_id': is missing; add it" in message
    assert "dataset.json, case number 5: must be an object in { }, but is text" in message


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"banc": 1}, "dataset.json, key 'banc': unknown key; remove it or correct its name (did you mean 'bank'?"),
        ({"version": ""}, "dataset.json, key 'version': '' does not have the form"),
        ({"bank": "Two words"}, "dataset.json, key 'bank': 'Two words' does not have the form"),
        ({"cases": {}}, "dataset.json, key 'cases': must be a list in [ ]; correct the type"),
        ({"cases": None}, "dataset.json, key 'cases': is missing; add the list"),
    ],
)
def test_a_wrong_head_is_named(files, refusal, extra, words):
    files.extra = extra
    assert words in refusal()


def test_an_unknown_key_beside_the_fixtures_is_named(files):
    files.write()
    (files.folder / "fixtures.json").write_text(json.dumps({"fixtures": files.fixtures, "comment": "x"}))
    with pytest.raises(BankError, match=r"^fixtures.json, key 'comment': unknown key; .* remove it$"):
        load(files.dataset_file)


def test_five_problems_are_listed_and_the_rest_counted(files, refusal):
    files.cases = [files.case(f"case-{number}", mode="nonsense") for number in range(8)]
    lines = refusal().splitlines()
    assert lines[0] == "8 problems in the bank:"
    assert [line.partition(", key")[0] for line in lines[1:6]] == [f"- dataset.json, case 'case-{n}'" for n in range(5)]
    assert lines[6:] == ["- and 3 more; correct these first"]


def test_a_bank_error_is_an_input_error_with_its_places(files):
    files.cases[0]["clause"] = "A.9.z"
    with pytest.raises(InputError) as caught:
        load(files.write())
    assert caught.value.code == "invalid_bank"
    assert caught.value.fields == (
        ("dataset.json, case 'one', key 'clause'", "no clause 'A.9.z'; known: A.1.a to A.5.b"),
    )


# -- fixtures and profiles


@pytest.mark.parametrize(
    "path",
    [
        "/etc/hosts",
        "../secret.json",
        "fixtures/../../secret.json",
        "fixtures\\secret.json",
        "C:/secret.json",
        "dataset.json",
        "fixtures",
        "other/file.json",
        "",
    ],
)
def test_a_path_out_of_the_fixtures_folder_is_refused(files, refusal, path):
    files.fixtures[1]["path"] = path
    message = refusal()
    assert f"fixtures.json, fixture 'record', key 'path': {path!r} leaves the folder fixtures/" in message


@pytest.mark.parametrize(
    ("number", "values", "key", "words"),
    [
        (0, {"sha256": "abc"}, "sha256", "'abc' does not have the form"),
        (0, {"media_type": "image/gif"}, "media_type", "Known: image/png, image/jpeg, application/json, text/plain"),
        (2, {"access": {"model": ["plan"]}}, "access.model", "text/plain has the one field 'content', not 'plan'"),
        (1, {"access": {"model": ["a", "a"]}}, "access.model", "field 'a' is given twice"),
        (1, {"access": {"model": ["a"], "judge": ["a"]}}, "access.judge", "'a' is visible to the model already"),
        (1, {"access": {"modle": []}}, "access.modle", "did you mean 'model'?"),
    ],
)
def test_a_wrong_fixture_is_named_with_its_key(files, refusal, number, values, key, words):
    files.fixtures[number].update(values)
    message = refusal()
    assert f"fixtures.json, fixture {files.fixtures[number]['fixture_id']!r}, key {key!r}: " in message
    assert words in message


@pytest.mark.parametrize(
    ("values", "key", "words"),
    [
        ({"select": {"clauses": ["A.9"]}}, "select.clauses", "no clause 'A.9'"),
        ({"select": {"tags": ["smoke"]}}, "select.tags", "'smoke' is not of the form scheme:code"),
        ({"select": {"modes": ["quick"]}}, "select.modes[0]", "known: single, multi_turn, tool, multimodal, rf, oc"),
        ({"sample": 0}, "sample", "greater than 0; correct it"),
        ({"title": "Full"}, "title", "must be an object in { }"),
        ({"colour": "red"}, "colour", "unknown key"),
    ],
)
def test_a_wrong_profile_is_named_with_its_key(files, refusal, values, key, words):
    files.profiles[0].update(values)
    message = refusal()
    assert f"profiles.json, profile 'full', key {key!r}: " in message
    assert words in message


def test_modes_survive_as_modes(files):
    assert load(files.write()).instances[1].mode is Mode.MULTIMODAL
