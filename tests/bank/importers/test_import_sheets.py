"""What spreadsheets hold besides text: formulas, errors, merged cells, truth values; and files under a wrong name."""

from __future__ import annotations

import io
import zipfile

import openpyxl
import pytest

HEADINGS = ["case_id", "clause", "text", "system"]


def sheet(*rows: list[object], merge: str | None = None, **parts: str) -> bytes:
    """A workbook; `parts` replaces text within its sheet as it is stored."""
    book, source, target = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    if merge is not None:
        book.active.merge_cells(merge)
    book.save(source)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name).decode()
            if name == "xl/worksheets/sheet1.xml" and parts:
                assert parts["before"] in content
                content = content.replace(parts["before"], parts["after"])
            new.writestr(name, content)
    return target.getvalue()


FORMULA = ["q1", "A.1.f", '="Wh"&"y?"', None]
WRITTEN = '<c r="C2"><f>"Wh"&amp;"y?"</f><v /></c>'


def test_a_formula_counts_by_the_result_the_file_carries(imported):
    result = '<c r="C2" t="str"><f>"Wh"&amp;"y?"</f><v>Why?</v></c>'
    (case,) = imported("xlsx", "q.xlsx", sheet(HEADINGS, FORMULA, before=WRITTEN, after=result)).cases
    assert case.turns[0].text == "Why?"


def test_a_formula_that_comes_to_no_text_is_a_blank_cell(imported):
    row = ["q1", "A.1.f", "Why?", '=""']
    written, nothing = '<c r="D2"><f>""</f><v /></c>', '<c r="D2" t="str"><f>""</f><v></v></c>'
    (case,) = imported("xlsx", "q.xlsx", sheet(HEADINGS, row, before=written, after=nothing)).cases
    assert case.system is None


@pytest.mark.parametrize("column", [3, 4])
def test_a_formula_without_a_result_is_refused_rather_than_read_as_a_blank_cell(refused, column):
    row: list[object] = ["q1", "A.1.f", "Why?", "Be brief."]
    row[column - 1] = '="x"&"y"'
    message = refused("xlsx", "q.xlsx", sheet(HEADINGS, ["q0", "A.1.f", "How?", None], row))
    assert message.startswith(f"q.xlsx, line 3, column {column}: holds a formula without its result")


@pytest.mark.parametrize("error", ["#REF!", "#N/A", "#NAME?"])
def test_an_error_in_a_cell_is_no_question(refused, error):
    message = refused("xlsx", "q.xlsx", sheet(HEADINGS, ["q1", "A.1.f", error, None]))
    assert message == f"q.xlsx, line 2, column 3: holds the error {error}; correct or clear it"


def test_a_truth_value_reads_as_the_sheet_shows_it(imported):
    assert imported("xlsx", "q.xlsx", sheet(HEADINGS, ["q1", "A.1.f", True, None])).cases[0].turns[0].text == "TRUE"


def test_merged_cells_have_their_content_in_the_first_of_them_only(refused):
    rows = [HEADINGS, ["q1", "A.1.f", "One?", None], ["q2", None, "Two?", None]]
    message = refused("xlsx", "q.xlsx", sheet(*rows, merge="B2:B3"))
    assert message.startswith("q.xlsx, line 3, column 'clause': the cell is blank")


@pytest.mark.parametrize("start", [sheet(HEADINGS), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)])
@pytest.mark.parametrize("format", ["csv", "jsonl", "xstest", "garak"])
def test_a_workbook_given_as_text_is_called_one(refused, format, start):
    assert "is a workbook or an archive, not text; import a workbook as xlsx" in refused(format, "q.csv", start)


def test_an_id_is_shown_as_its_file_has_it(refused):
    message = refused("csv", "q.csv", "case_id,clause,text\n题１,A.1.a,x\n题1,A.1.b,y\n")
    assert message.startswith("q.csv, line 3: id '题1' is taken by line 2 (there '题１')")


def test_the_same_question_without_ids_is_said_to_be_the_same(refused):
    message = refused("csv", "q.csv", "clause,text\nA.1.a,x\nA.1.b,x\n")
    assert message == "q.csv, line 3: asks the same as line 2; remove one of them"
