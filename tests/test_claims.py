"""The ledger, and the cells that show its claims: each rule is seen to refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbformat import v4

from coursekit.claims import VERDICTS, Claim, findings, load_claims
from coursekit.errors import CourseError

LEDGER = Path(__file__).parents[1] / "source" / "claims.toml"
CLAIMS = {
    10: Claim(10, 1, "2.1", "Transposing copies nothing.", "holds", "Only strides change."),
    13: Claim(13, 1, "2.2", "Offsets are bytes.", "wrong", "They count elements."),
    44: Claim(44, 5, "5.1", "dtype chooses the kernel.", "wrong", "It does not."),
}
HOLDS = "strides = t.stride()\nassert strides == (1, 4)"
REFUTES = "assert a[1:].storage_offset() == 4\nassert a[1:].storage_offset() != 32"


def rules(cells: dict[str, str], *, ran: bool = True, outputs: bool = True) -> list[str]:
    """The rules that a chapter 1 with these cells (tags, joined by a space: source) breaks."""
    shown = [v4.new_output("stream", text="(1, 4)\n")] if outputs else []
    nodes = [
        v4.new_code_cell(source, outputs=shown, metadata={"tags": tags.split()})
        for tags, source in cells.items()
    ]
    notebook = v4.new_notebook(cells=nodes)
    found = findings(notebook, CLAIMS, chapter=1, file="notebooks/01.ipynb", ran=ran)
    return [finding.rule for finding in found]


def test_the_ledger_holds_61_claims_each_in_one_chapter():
    claims = load_claims(LEDGER)
    assert sorted(claims) == list(range(1, 62))
    chapters = {
        1: {*range(8, 14)},
        2: {6, *range(14, 21)},
        3: {1, 2, 3, *range(21, 31), 59, 60},
        4: {*range(31, 44), 61},
        5: {5, 7, *range(44, 53), 57},
        6: {4, *range(53, 57), 58},
    }
    for chapter, ids in chapters.items():
        assert {claim.id for claim in claims.values() if claim.chapter == chapter} == ids


def test_each_claim_says_one_sentence_and_ours_is_another():
    for claim in load_claims(LEDGER).values():
        assert claim.verdict in VERDICTS
        for sentence in (claim.says, claim.sentence):
            assert sentence.endswith(".") and sentence[:-1].strip(), claim
        assert claim.says != claim.sentence


def test_a_chapter_that_shows_its_claims_breaks_no_rule():
    assert rules({"claim:10": HOLDS, "claim:13": REFUTES}) == []
    assert rules({"claim:10 claim:13": f"{HOLDS}\n{REFUTES}"}) == []


def test_a_claim_without_a_cell_is_refused():
    assert rules({"claim:10": HOLDS}) == ["claim without a cell"]


def test_a_claim_of_another_chapter_or_of_none_is_refused():
    shown = {"claim:10": HOLDS, "claim:13": REFUTES}
    assert rules({**shown, "claim:44": HOLDS}) == ["claim"]
    assert rules({**shown, "claim:99": HOLDS}) == ["claim"]


def test_a_claim_cell_without_an_output_is_refused_once_it_ran():
    shown = {"claim:10": HOLDS, "claim:13": REFUTES}
    assert rules(shown, outputs=False) == ["claim output", "claim output"]
    assert rules(shown, outputs=False, ran=False) == []


@pytest.mark.parametrize(
    "source",
    [
        "print(t.stride())",
        "assert True",
        "assert (1, 4) == (1, 4)",
        "assert 'strides' and 4 > 3, t.stride()",
        "assert torch.float32",
        "assert t.stride() == (",
        "size = 3\nassert size == 3",
        "size = 3\nlarger = size + 1\nassert larger == 4",
        "for size in (3, 4):\n    assert size > 2",
        "with_default: int = 3\nassert with_default == 3",
        "dtype = torch.float32\nassert dtype == torch.float32",
        "strides = (1, 4)\nassert strides == (1, 4)",
        "assert later == 1",
    ],
)
def test_an_assert_that_nothing_computed_decides_is_none(source):
    cells = {"": "strides = t.stride()", "claim:10": source, "claim:13": REFUTES}
    assert rules({**cells, "measured": "later = t.dim()"}) == ["claim assert"]


@pytest.mark.parametrize(
    "source",
    [
        "assert t.is_contiguous()",
        "assert strides == (1, 4)",
        "first = strides[0]\nassert first == 1",
        "if t.numel():\n    size = t.dim()\nlarger = size + 1\nassert larger == 3",
        "first: int = strides[0]\nassert first == 1",
        "first, last = strides\nassert last == 4",
        "if (first := strides[0]):\n    pass\nassert first == 1",
        "for stride in strides:\n    assert stride > 0",
        "[strides for strides in t.tolist()]\nassert strides == (1, 4)",
        "with warnings.catch_warnings(record=True) as caught:\n    pass\nassert caught",
        "def check(t):\n    assert t.shape == (3,)",
        "seen = []\nt.register_hook(seen.append)\nassert seen == [1]",
        "calls = 0\ndef hook():\n    global calls\n    calls += 1\nassert calls == 2",
        "rows = [0, 0]\nrows[0] = t.dim()\nassert rows == [2, 0]",
        "%matplotlib inline\nassert t.is_contiguous()",
        "with expect_error(RuntimeError, match='view'):\n    t.view(-1)",
    ],
)
def test_an_assert_on_something_computed_counts(source):
    shown = {"": "strides = t.stride()", "claim:10": source, "claim:13": REFUTES}
    assert rules(shown) == []


def test_of_several_cells_of_a_claim_one_asserts():
    shown = {"claim:10": "print(t.stride())", "claim:13": REFUTES}
    assert rules({**shown, "claim:10 measured": "plot(t)"}) == ["claim assert"]
    assert rules({**shown, "claim:10 measured": HOLDS}) == []


def test_a_claim_that_no_cell_asserts_is_told_with_its_first_cell():
    node = v4.new_code_cell("print(t.stride())", metadata={"tags": ["claim:10"]})
    notebook = v4.new_notebook(cells=[node])
    (found,) = findings(notebook, {10: CLAIMS[10]}, chapter=1, file="01.ipynb", ran=False)
    assert str(found) == (
        "01.ipynb, cell 'print(t.stride())': it shows claim 10, and no cell of the claim asserts "
        "something computed. Assert what torch gave."
    )


def test_a_wrong_claim_needs_two_asserts_or_an_expect_error():
    shown = {"claim:10": HOLDS}
    one = "assert a[1:].storage_offset() == 4"
    assert rules({**shown, "claim:13": one}) == ["claim not refuted"]
    assert rules({**shown, "claim:13": one, "claim:13 measured": one}) == []
    error = "with learn.expect_error(ValueError, match='bytes'):\n    offset_bytes(a)"
    assert rules({**shown, "claim:13": error}) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[claim]\n", "Asked to read source/claims.toml. It is not valid TOML: .*line 1"),
        ("[[claims]]\nid = 1\n", r"It has \[claims\], which nothing reads"),
        ("claim = 3\n", "Its 'claim' is no list of rows. Begin each row with"),
        ("[claim]\nid = 1\n", "Its 'claim' is no list of rows"),
        ("claim = [1]\n", "Its 'claim' is no list of rows"),
    ],
)
def test_a_ledger_that_holds_no_rows_is_refused(tmp_path, text, told):
    ledger = tmp_path / "claims.toml"
    ledger.write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match=told):
        load_claims(ledger)


def test_a_ledger_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(CourseError, match=r"Asked to read source/claims.toml. That cannot be done"):
        load_claims(tmp_path / "claims.toml")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("id = '1'", "Row 1 of source/claims.toml has id = '1'. That field takes a whole number"),
        ("id = true", "has id = True. That field takes a whole number"),
        ("says = 3", "has says = 3. That field takes a text in quotes"),
    ],
)
def test_a_row_with_a_value_of_another_kind_is_refused(tmp_path, given, told):
    row = {
        "id": "1",
        "chapter": "1",
        "section": "'1'",
        "says": "'a'",
        "verdict": "'holds'",
        "sentence": "'b'",
    }
    field, _, value = given.partition(" = ")
    lines = [f"{name} = {text}" for name, text in {**row, field: value}.items()]
    ledger = tmp_path / "claims.toml"
    ledger.write_text("\n".join(["[[claim]]", *lines]), encoding="utf-8")
    with pytest.raises(CourseError, match=told):
        load_claims(ledger)


def test_a_row_with_other_fields_a_known_id_or_another_verdict_is_refused(tmp_path):
    row = '[[claim]]\nid = 1\nchapter = 3\nsection = "1.1"\nsays = "a"\nsentence = "b"\n'
    ledger = tmp_path / "claims.toml"
    ledger.write_text(row, encoding="utf-8")
    with pytest.raises(CourseError, match="has the fields id, chapter, section, says, sentence"):
        load_claims(ledger)
    ledger.write_text(f'{row}verdict = "true"\n', encoding="utf-8")
    with pytest.raises(CourseError, match="has the verdict 'true'"):
        load_claims(ledger)
    ledger.write_text(f'{row}verdict = "holds"\n' * 2, encoding="utf-8")
    with pytest.raises(CourseError, match="Ids stand once"):
        load_claims(ledger)
