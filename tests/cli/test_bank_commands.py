"""`magistrate bank ...`: output, exit codes, and whole banks or none."""

from __future__ import annotations

import hashlib
import json

from tests.performance import kill_imports
from tests.support import engines


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def write(folder, *numbers, name="mine.jsonl", **changes):
    file = folder / name
    file.write_text("".join(json.dumps(engines.case(number, **changes)) + "\n" for number in numbers))
    return file


class TestValidate:
    def test_the_bundled_bank_is_sound_and_no_database_is_made(self, magistrate):
        told = json.loads(magistrate("bank", "validate", "--json").stdout)
        assert sorted(told) == ["cases", "clauses", "findings", "instances", "modes"]
        assert (told["instances"], told["clauses"], told["modes"], told["findings"]) == (451, 31, 6, [])
        assert not (magistrate.folder / "platform.db").exists()

    def test_every_finding_says_where_and_what_to_do_and_the_exit_code_is_1(self, magistrate):
        dataset = engines.write_bank(magistrate.folder / "bank", [engines.case(1, clause="A.9.z"), engines.case(2)])
        told = json.loads(magistrate("bank", "validate", "--file", dataset, "--json", code=1).stdout)
        (wrong,) = [each for each in told["findings"] if each["key"] == "clause"]
        assert sorted(wrong) == ["case", "file", "fix", "key", "problem"]
        assert (wrong["file"], wrong["case"]) == ("dataset.json", "case-00001")
        words = magistrate("bank", "validate", BANK_FILE=str(dataset), code=1).stdout
        assert "dataset.json, case-00001, clause: " in words and "findings" in words.splitlines()[-1]

    def test_a_file_that_is_missing_or_no_json_is_a_finding(self, magistrate):
        told = json.loads(magistrate("bank", "validate", "--file", "nowhere.json", "--json", code=1).stdout)
        assert told["instances"] == 0 and told["findings"][0]["file"] == "nowhere.json"


class TestImport:
    def test_a_bank_is_tried_imported_and_listed(self, small):
        file = write(small.folder, 1, 2, 3)
        tried = small("bank", "import", "jsonl", file, "--name", "mine", "--dry-run").stdout
        assert "3 of 3 questions would be imported" in tried
        assert json.loads(small("bank", "list", "--name", "mine", "--json").stdout)["total"] == 0
        report = json.loads(
            small("bank", "import", "jsonl", file, "--name", "mine", "--version", "v1", "--json").stdout
        )
        assert (report["bank"], report["version"], report["imported"], report["unmapped"]) == ("mine", "v1", 3, [])
        listed = small("bank", "list").stdout
        assert "mine v1  3 instances of 3 cases, jsonl, " in listed and report["sha256"] in listed
        assert "2 of 2 versions" in listed

    def test_a_run_names_its_bank_and_an_unknown_one_is_answered_with_what_there_is(self, small):
        small("bank", "import", "jsonl", write(small.folder, 1, 2, 3), "--name", "mine")
        run = json.loads(small("run", "--profile", "full", "--bank", "mine", "--json").stdout.splitlines()[-1])
        assert (run["bank"], run["total_count"], run["status"]) == ("mine", 3, "completed")
        unknown = small("run", "--profile", "full", "--bank", "your", "--json", code=2).stdout
        assert json.loads(unknown)["code"] == "unknown_bank" and "known: mine, regression" in unknown

    def test_an_export_is_imported_as_the_same_questions(self, small):
        file = write(small.folder, 1, 2, 3)
        report = json.loads(small("bank", "import", "jsonl", file, "--name", "mine", "--json").stdout)
        out = small("bank", "export", "--name", "mine", "--format", "jsonl").stdout.strip()
        assert out == "outputs/mine-1.jsonl"
        back = small("bank", "import", "jsonl", small.folder / out, "--name", "back", "--json").stdout
        assert json.loads(back)["sha256"] == report["sha256"]
        assert len(small("bank", "export", "--format", "inspect", "-o", "-").stdout.splitlines()) == 60
        assert "known: jsonl" in small("bank", "export", "--format", "xml", code=2).stderr

    def test_h8_the_same_file_twice_is_exit_3_and_makes_no_second_bank(self, small):
        """H8."""
        file = write(small.folder, 1, 2)
        small("bank", "import", "jsonl", file, "--name", "mine")
        again = small("bank", "import", "jsonl", file, "--name", "mine", "--json", code=3)
        assert json.loads(again.stdout)["code"] == "bank_exists"
        assert json.loads(small("bank", "list", "--name", "mine", "--json").stdout)["total"] == 1

    def test_h2_a_fixture_with_one_byte_changed_missing_or_empty_stops_the_run_before_it_is_created(self, small):
        """H2."""
        content = b"Returns are free within 14 days."
        name = {"zh": "政策", "en": "Policy"}
        for state, shown in (("changed", b"Returns are free within 15 days."), ("empty", b""), ("missing", None)):
            folder = small.folder / state
            pinned = {
                "fixture_id": "policy",
                "path": "fixtures/policy.txt",
                "media_type": "text/plain",
                "sha256": sha256(content),
                "licence": "Apache-2.0",
                "title": name,
                "access": {"model": ["content"]},
            }
            turns = [{"text": "May I return it?", "fixtures": ["policy"]}]
            dataset = engines.write_bank(folder, [engines.case(1, turns=turns)], [pinned])
            (folder / "fixtures").mkdir()
            if shown is not None:
                (folder / "fixtures" / "policy.txt").write_bytes(shown)
            refused = small("run", "--profile", "full", BANK_FILE=str(dataset), code=2).stderr
            assert "policy" in refused and sha256(content) in refused
            assert shown is None or sha256(shown) in refused, "both hashes"
        assert json.loads(small("runs", "--json").stdout)["total"] == 0

    def test_a_broken_line_keeps_everything_out_and_is_named(self, small):
        file = write(small.folder, 1, 2)
        file.write_text(file.read_text() + "{broken\n")
        refused = small("bank", "import", "jsonl", file, "--name", "mine", code=2).stderr
        assert "mine.jsonl" in refused and "line 3" in refused
        assert json.loads(small("bank", "list", "--name", "mine", "--json").stdout)["total"] == 0

    def test_columns_are_mapped_filled_and_left_out_by_name(self, small):
        file = small.folder / "sheet.csv"
        file.write_text("frage=text,thema,note\nHow do I return a parcel?,A.5.b,x\nAnd a letter?,nothing,y\n")
        mapped = ("--map", "frage=text=text", "--map", "thema=clause", "--default", "language=en", "--ignore", "note")
        done = small("bank", "import", "csv", file, "--name", "sheet", *mapped).stdout
        assert "1 of 2 questions imported as sheet 1" in done
        assert "not imported: sheet.csv, line 3, 'nothing'" in done
        report = small("bank", "import", "csv", file, "--name", "sheet", *mapped, "--dry-run", "--json").stdout
        assert [left["line"] for left in json.loads(report)["unmapped"]] == [3]

    def test_a_long_list_of_what_was_not_imported_is_cut_short(self, small):
        file = small.folder / "sheet.csv"
        file.write_text("text,clause,language\nOne?,A.5.b,en\n" + "".join(f"N{n}?,x,en\n" for n in range(30)))
        assert "10 more; --json lists all" in small("bank", "import", "csv", file, "--name", "sheet").stdout

    def test_wrong_use_is_exit_2_in_words(self, small):
        file = write(small.folder, 1)
        assert "cannot be read" in small("bank", "import", "jsonl", "nowhere", "--name", "mine", code=2).stderr
        assert "jsonl" in small("bank", "import", "jsonk", file, "--name", "mine", code=2).stderr
        assert "small letters" in small("bank", "import", "jsonl", file, "--name", "My bank", code=2).stderr
        taken = small("bank", "import", "jsonl", file, "--name", "regression", code=3).stderr
        assert "choose another name" in taken
        for wrong in (("--map", "x"), ("--map", "a=clause", "--map", "b=clause"), ("--default", "=x")):
            assert wrong[0] in small("bank", "import", "csv", file, "--name", "mine", *wrong, code=2).stderr
        small("bank", "import", "jsonl", file, code=2)


def test_h7_an_import_killed_at_any_moment_leaves_the_whole_bank_or_none(small):
    """H7. All fifty kills: `python -m tests.performance.kill_imports`."""
    outcome = kill_imports.sweep(small, kills=5, cases=1000)
    assert outcome.whole + outcome.none == 5
