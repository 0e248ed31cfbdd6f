"""The loader of the rules file, and what it says of a broken one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.bank import ruleset, validation
from engine.errors import BankError
from engine.rules.rubric import RuleSet
from engine.settings import ROOT

SHIPPED = ROOT / "data" / "rules.json"


def written(folder: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    rules = json.loads(SHIPPED.read_text(encoding="utf-8"))
    change(rules)
    file = folder / "rules.json"
    file.write_text(json.dumps(rules, ensure_ascii=False), encoding="utf-8")
    return file


def test_the_shipped_rules_are_read_whole_and_survive_being_frozen():
    rules = ruleset.load(SHIPPED)
    assert len(rules.rules) == len(json.loads(SHIPPED.read_text(encoding="utf-8"))["rules"])
    assert RuleSet.model_validate_json(json.dumps(ruleset.frozen(rules))) == rules


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        (
            lambda rules: rules["rules"][0].update(is_hrad=True),
            "rule 'a1.call_to_violence', key 'is_hrad'",
            "did you mean 'is_hard'?",
        ),
        (
            lambda rules: rules["rules"][0]["conditions"].update(mood={"include": ["x"]}),
            "rule 'a1.call_to_violence', key 'conditions'",
            "unknown dimension 'mood'; known: clause,",
        ),
        (
            lambda rules: rules["rules"][0]["effects"]["avoid"][0].update(slot="reply"),
            "rule 'a1.call_to_violence', key 'effects'",
            "unknown slot 'reply'",
        ),
        (
            lambda rules: rules["detectors"][0]["patterns"].insert(0, "("),
            "detector 'call_to_violence', key 'patterns[0]'",
            "is not a regular expression",
        ),
        (lambda rules: rules["rules"].append(rules["rules"][0]), "key 'rules'", "a1.call_to_violence occurs twice"),
        (
            lambda rules: rules["rules"][0]["effects"]["avoid"][0]["attrs"].update(element=["nowhere"]),
            "key 'rules'",
            "no detector finds the element 'nowhere'",
        ),
        (lambda rules: rules.pop("version"), "key 'version'", "is missing"),
        (lambda rules: rules.update(rules={}), "key 'rules'", "must be a list"),
    ],
)
def test_what_is_wrong_with_a_rule_names_file_rule_and_key(tmp_path, change, place, words):
    file = written(tmp_path, change)
    with pytest.raises(BankError) as raised:
        ruleset.load(file)
    assert f"rules.json, {place}: " in raised.value.message
    assert words in raised.value.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "line 1, column 2: not readable as JSON"),
        ('{"version": "1", "version": "2"}', "key 'version' is given twice"),
        (
            '{"version": "1", "rules": [{"rule_key": "r", "is_hard": true, "is_hard": false}]}',
            "in rule_key 'r': key 'is_hard' is given twice",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_said_to_be_so(tmp_path, text, words):
    (tmp_path / "rules.json").write_text(text, encoding="utf-8")
    with pytest.raises(BankError, match=r"rules\.json") as raised:
        ruleset.load(tmp_path / "rules.json")
    assert words in raised.value.message


def test_a_missing_file_names_the_setting(tmp_path):
    with pytest.raises(BankError, match="no such file; put it there, or name another in RULES_FILE"):
        ruleset.load(tmp_path / "rules.json")


def test_checking_a_bank_reports_broken_rules_beside_the_banks_own_findings(tmp_path):
    dataset = ROOT / "data" / "dataset.json"
    assert validation.validate_file(dataset, rules_file=SHIPPED)[1] == []
    broken = written(
        tmp_path,
        lambda rules: next(rule for rule in rules["rules"] if rule["rule_key"] == "a1.fake_notice").update(
            priority=5000
        ),
    )
    counts, [finding] = validation.validate_file(dataset, rules_file=broken)
    assert counts.instances > 0
    assert (finding.file, finding.case, finding.key) == ("rules.json", "a1.fake_notice", "priority")
    assert finding.problem
    assert finding.fix
