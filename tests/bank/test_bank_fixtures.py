"""Fixtures are checked before a run and shown only as far as their policy allows."""

from __future__ import annotations

import hashlib
import json

import pytest

from engine.bank import load, read_fixtures, visible
from engine.errors import BankError


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def refused(bank, instances=()):
    with pytest.raises(BankError) as caught:
        read_fixtures(bank, instances)
    assert str(bank.folder) not in caught.value.message
    return caught.value.message


def test_the_bytes_of_the_used_fixtures_come_by_their_hash(files):
    bank = load(files.write())
    assert read_fixtures(bank, bank.instances[:2]) == {sha256(files.pixel): files.pixel}
    assert len(read_fixtures(bank, bank.instances)) == 3
    assert read_fixtures(bank, []) == {}


@pytest.mark.parametrize("used", [True, False])
def test_one_changed_byte_is_refused_with_both_hashes_used_or_not(files, used):
    bank = load(files.write())
    altered = files.pixel[:-1] + b"X"
    (files.folder / "fixtures/chart.png").write_bytes(altered)
    message = refused(bank, bank.instances if used else ())
    assert "fixtures.json, fixture 'chart', file 'fixtures/chart.png': has SHA-256 " in message
    assert sha256(altered) in message and sha256(files.pixel) in message and "restore the file" in message


def test_an_emptied_file_is_refused(files):
    bank = load(files.write())
    (files.folder / "fixtures/policy.txt").write_bytes(b"")
    assert sha256(b"") in refused(bank)


def test_a_missing_file_is_refused_with_the_expected_hash(files):
    bank = load(files.write())
    (files.folder / "fixtures/chart.png").unlink()
    message = refused(bank)
    assert "fixture 'chart', file 'fixtures/chart.png': is missing (expected SHA-256 " + sha256(files.pixel) in message


def test_a_file_that_cannot_be_read_is_refused(files):
    bank = load(files.write())
    (files.folder / "fixtures/chart.png").unlink()
    (files.folder / "fixtures/chart.png").mkdir()
    assert "cannot be read (Is a directory); make it a readable file" in refused(bank)


def test_a_link_out_of_the_folder_is_refused(files):
    bank = load(files.write())
    outside = files.folder / "outside.png"
    outside.write_bytes(files.pixel)
    (files.folder / "fixtures/chart.png").unlink()
    (files.folder / "fixtures/chart.png").symlink_to(outside)
    assert "fixture 'chart', file 'fixtures/chart.png': leads out of the folder fixtures/" in refused(bank)


def test_every_altered_fixture_is_named_at_once(files):
    bank = load(files.write())
    for path in files.contents:
        (files.folder / path).write_bytes(b"{}")
    message = refused(bank)
    assert message.startswith("3 problems in the bank:")
    assert all(f"fixture {name!r}" in message for name in bank.fixtures)


def test_an_instance_of_another_bank_is_refused_when_its_fixture_is_unknown(files):
    stranger = load(files.write()).instances[1]
    files.cases, files.fixtures = files.cases[:1], []
    assert "an instance uses 'chart', which bank 'small' lacks" in refused(load(files.write()), [stranger])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{not json", "is not application/json in UTF-8"),
        (b"\xff\xfe", "is not application/json in UTF-8"),
        (b"[1]", "must hold one JSON object"),
        (b'{"plan": 1}', "has no field 'answer', which its access policy names"),
    ],
)
def test_a_document_that_its_policy_cannot_be_applied_to_is_refused(files, content, words):
    files.contents["fixtures/record.json"] = content
    files.fixtures[1]["sha256"] = sha256(content)
    assert words in refused(load(files.write()))


def test_a_text_that_is_not_utf_8_is_refused(files):
    content = "退货".encode("gb18030")
    files.contents["fixtures/policy.txt"] = content
    files.fixtures[2]["sha256"] = sha256(content)
    assert "is not text/plain in UTF-8" in refused(load(files.write()))


# -- visibility


def test_the_model_sees_its_fields_only(files):
    bank = load(files.write())
    shown = visible(bank.fixtures["record"], files.record, to="model")
    assert json.loads(shown) == {"plan": "Family 200"}
    for hidden in ("phone", "555 0117", "answer", "hand over politely", "note", "canary-for-reviewers"):
        assert hidden not in shown


def test_the_judge_sees_what_the_model_sees_and_its_own_fields_but_not_the_rest(files):
    bank = load(files.write())
    shown = visible(bank.fixtures["record"], files.record, to="judge")
    assert json.loads(shown) == {"plan": "Family 200", "answer": "hand over politely"}


def test_a_text_is_shown_whole_or_not_at_all(files):
    files.fixtures[2]["access"] = {"model": [], "judge": ["content"]}
    policy = load(files.write()).fixtures["policy"]
    content = b"\xef\xbb\xbf" + "退货政策".encode()
    assert visible(policy, content, to="model") == ""
    assert visible(policy, content, to="judge") == "退货政策"


def test_a_document_with_nothing_to_show_is_empty(files):
    files.fixtures[1]["access"] = {"model": [], "judge": ["answer"]}
    record = load(files.write()).fixtures["record"]
    assert visible(record, files.record, to="model") == ""


def test_chinese_stays_readable(files):
    files.fixtures[1]["access"] = {"model": ["标题"]}
    record = load(files.write()).fixtures["record"]
    assert visible(record, '{"标题": "供货纪要", "x": 1}'.encode(), to="model") == '{\n  "标题": "供货纪要"\n}'


def test_an_image_is_not_text(files):
    with pytest.raises(ValueError, match="'chart' is an image"):
        visible(load(files.write()).fixtures["chart"], files.pixel, to="model")
