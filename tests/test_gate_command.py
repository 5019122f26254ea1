"""Gates as users write them, the command with its exit codes, and the files that it writes."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gated import ROWS, row, stored, verdicts_of
from truecost import cli
from truecost.gates import (
    Gate,
    Verdict,
    annotations,
    check,
    junit,
    markdown,
    parse_gate,
    read_gates,
)
from truecost.study import ResultFile


@pytest.fixture(autouse=True)
def no_summary(monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.fixture
def result(tmp_path, monkeypatch):
    """`out/result.json` with ROWS, in the working folder."""
    monkeypatch.chdir(tmp_path)
    return stored(ROWS, tmp_path / "out")


@pytest.fixture
def run(capfd):
    """Run `truecost gate`: (exit code, standard output, standard error)."""

    def call(*arguments):
        code = cli.run(["gate", *map(str, arguments)])
        return code, *capfd.readouterr()

    return call


# -- gates from text and files


def test_values_may_hold_commas_colons_and_equals_signs():
    gate = parse_gate("eer:nearest:max_upper=0.1,subset=a:b=c,d=e,name=the gate")
    assert gate == Gate(measure="eer:nearest", max_upper=0.1, subset="a:b=c,d=e", name="the gate")
    assert parse_gate("act_dcf:subset=noise=babble,max_upper=.3").limit == 0.3
    assert parse_gate("x:system=a:name=b,max_upper=1").system == "a:name=b"


NAMES = st.text("ab=<. :0", min_size=1).map(str.strip).filter(bool)


@given(NAMES, st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_a_gate_written_as_text_is_read_back(subset, limit, first):
    keys = [f"subset={subset}", f"max_upper={limit!r}"]
    text = f"act_dcf:{','.join(keys if first else keys[::-1])}"
    assert parse_gate(text) == Gate(measure="act_dcf", max_upper=limit, subset=subset)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("act_dcf", "is not understood: write MEASURE:KEY=VALUE"),
        ("act_dcf=0.3", "is not understood: write MEASURE:KEY=VALUE"),
        (":max_upper=0.3", "is not understood"),
        ("act_dcf:max_uper=0.3", "no key 'max_uper' (did you mean 'max_upper'?)"),
        ("act_dcf:max-upper=0.3", "no key 'max-upper' (did you mean 'max_upper'?)"),
        ("act_dcf:max_upper=0.3,sbset=x", "no key 'sbset' (did you mean 'subset'?)"),
        ("act_dcf:max_uper=1,subset=x", "no key 'max_uper'"),
        ("act_dcf:max_upper=30%", "max_upper is '30%', which is not a number"),
        ("act_dcf:max_upper=", "max_upper has no value"),
        ("act_dcf:max_upper=nan", "must be a finite number"),
        ("act_dcf:max_upper=1,max_upper=2", "max_upper is given twice"),
        ("act_dcf:max_upper=1,min_lower=2", "max_upper and min_lower are 2 limits"),
        ("act_dcf:system=A", "there is no limit; write max_upper=NUMBER"),
        ("act_dcf:baseline=A", "there is no limit; write max_upper_delta=NUMBER"),
        ("act_dcf:baseline=A,max_upper=1", "write max_upper_delta for a limit on the difference"),
        ("act_dcf:max_upper_delta=1", "the gate names no baseline: write baseline=SYSTEM"),
        ("act_dcf:max_upper=1,undecided=no", "undecided is 'no': choose one of fail, pass"),
    ],
)
def test_bad_gates_on_the_command_line(run, result, text, said):
    code, out, err = run(result, "--gate", text)
    assert (code, out) == (2, "")
    assert said in err


GOOD = '[data]\ntype = "llr"\n[[gate]]\nmeasure = "act_dcf"\nsystem = "B"\nmax_upper = 1\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[gates]]\nmeasure = 'x'", "there is no [[gate]] table (there is 'gates')"),
        ("[gate]\nmeasure = 'x'\nmax_upper = 1", "there is no [[gate]] table"),
        ("[[gate]\n", "this is not valid TOML"),
        ("gate = [1]", "gate 1: this is not a table"),
        (f"{GOOD}[[gate]]\nmeasure = 'x'\nmax_uper = 1", "gate 2: there is no key 'max_uper' (did"),
        ("[[gate]]\nmeasure = 'x'\nmax_upper = true", "gate 1: max_upper: Expected"),
        ("[[gate]]\nmax_upper = 1", "gate 1: measure is missing"),
        ("[[gate]]\nmeasure = 'x'\nmax_upper = inf", "gate 1: gate x: max_upper is inf"),
        ("[[gate]]\nmeasure = 'x'\nmax_upper = 1\nundecided = 'no'", "gate 1: undecided: Invalid"),
    ],
)
def test_bad_gate_files(run, result, tmp_path, text, said):
    (tmp_path / "gates.toml").write_text(text, encoding="utf-8")
    code, _, err = run(result, "--gates", "gates.toml")
    assert code == 2
    assert f"gates.toml: {said}" in err


def test_a_study_file_gives_its_gates(run, result, tmp_path):
    (tmp_path / "study.toml").write_text(GOOD, encoding="utf-8-sig")
    assert read_gates("study.toml") == (Gate(measure="act_dcf", system="B", max_upper=1),)
    assert run(result, "--gates", "study.toml")[0] == 0
    assert run(result, "--gates", "study.toml", "--gate", "act_dcf:max_upper=0.1")[0] == 1
    assert run(result, "--gates", "none.toml")[::2] == (
        3,
        "truecost: none.toml: there is no such file or folder\n",
    )
    code, _, err = run(result)
    assert code == 2
    assert "no limit is given: use --gate" in err


# -- the command


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        (["act_dcf:max_upper=0.5"], 0),
        (["act_dcf:max_upper=0.5", "act_dcf:max_upper=0.1,system=A"], 1),
        (["act_dcf:max_upper=0.3"], 4),
        (["act_dcf:max_upper=0.3", "act_dcf:max_upper=0.1,system=A"], 1),
        (["act_dcf:max_upper=0.3,undecided=pass"], 0),
        (["act_dcf:max_upper=0.3,undecided=pass", "act_dcf:max_upper=0.35"], 4),
        (["act_dcf:max_upper=0.1,undecided=pass"], 1),
        (["act_dcf:max_upper=0.5,subset=noise=babble,system=A"], 4),
        (["act_dcf:max_upper=0.9,subset=snr < 5, noise=music,system=A"], 0),
        (["act_dcf:max_upper_delta=0,baseline=A"], 0),
        (["auc:min_lower=0.9"], 4),
        (["auc:max_upper=0.9"], 2),
    ],
)
def test_exit_codes(run, result, gates, code):
    arguments = [part for gate in gates for part in ("--gate", gate)]
    assert run("out/result.json", *arguments)[0] == code
    assert run("out", *arguments)[0] == code


def test_what_is_printed(run, result):
    code, out, err = run(result, "--gate", "act_dcf:max_upper=0.35")
    assert code == 4
    assert [line.split() for line in out.splitlines()] == [
        ["system", "measure", "value", "95%", "interval", "limit", "verdict"],
        ["A", "act_dcf", "0.30", "[0.20,", "0.40]", "<=", "0.35", "undecided"],
        ["B", "act_dcf", "0.200", "[0.150,", "0.250]", "<=", "0.35", "pass"],
    ]
    assert err.startswith("undecided: act_dcf (A): the limit 0.35 lies in the interval: about 720")
    assert run(result, "--gate", "act_dcf:max_upper=0.35", "--quiet")[2] == ""


@pytest.mark.parametrize("method", ["auto", "percentile"])
def test_no_error_among_600_nontargets_is_no_proof_of_one_in_ten_million(run, tmp_path, method):
    """`p_fa 0 [0, 0]`, the percentile interval, would keep any limit."""
    lines = [f"t{k},{k % 50 == 0:d},{4 if k % 50 == 0 else -4}" for k in range(612)]
    table = tmp_path / "s.csv"
    table.write_text("\n".join(["id,label,score", *lines[1:]]), encoding="utf-8")
    out = tmp_path / "scored"
    wanted = ("--type", "llr", "--measure", "p_fa", "--method", method, "-o", out, "--quiet")
    assert cli.run(["score", *map(str, (table, *wanted))]) == 0
    code, _, err = run(out, "--gate", "p_fa:max_upper=1e-7")
    assert code == 4
    assert "undecided: p_fa" in err
    assert ("if the value stays exactly 0%." if method == "auto" else "has no width") in err
    assert (
        run(out, "--gate", "p_fa:max_upper=1e-7,method=percentile")[0] == (4, 2)[method == "auto"]
    )
    assert run(out, "--gate", "p_fa:max_upper=0.01")[0] == (0 if method == "auto" else 4)


def test_a_result_of_another_method_is_refused(run, tmp_path):
    old = stored([row(method="percentile")], tmp_path / "old")
    code, out, err = run(old, "--gate", "act_dcf:max_upper=0.5")
    assert (code, out) == (2, "")
    assert "the interval of act_dcf (A) is of the method percentile; gates decide by auto" in err
    assert run(old, "--gate", "act_dcf:max_upper=0.5,method=percentile")[0] == 0
    gates = tmp_path / "gates.toml"
    gates.write_text('[[gate]]\nmeasure = "act_dcf"\nmax_upper = 0.5\nmethod = "percentile"\n')
    assert run(old, "--gates", gates)[0] == 0
    gates.write_text('[[gate]]\nmeasure = "act_dcf"\nmax_upper = 0.5\nmethod = "exact"\n')
    assert "gate 1: method: Invalid" in run(old, "--gates", gates)[2]


def test_the_verdicts_as_json(run, result):
    code, out, _ = run(result, "--gate", "act_dcf:max_upper=0.35", "--json")
    verdicts = msgspec.convert(json.loads(out)["gates"], tuple[Verdict, ...])
    assert code == 4
    assert verdicts == check([parse_gate("act_dcf:max_upper=0.35")], ROWS)


def test_verdicts_are_stored_in_a_result(tmp_path):
    verdicts = check([parse_gate("act_dcf:max_upper=0.35")], ROWS)
    content = ResultFile(
        schema_version=2, truecost="0", rows=ROWS, problems=(), inputs=(), gates=verdicts
    )
    assert msgspec.json.decode(msgspec.json.encode(content), type=ResultFile).gates == verdicts


def test_standard_input(monkeypatch, run, result):
    class Piped:
        buffer = (result / "result.json").open("rb")

    monkeypatch.setattr("sys.stdin", Piped)
    assert run("-", "--gate", "act_dcf:max_upper=0.5")[0] == 0
    Piped.buffer.close()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file is empty"),
        ("nothing", "this is not JSON"),
        ("[1]", "is not a result"),
        ('{"rows": []}', "is not a result"),
        ('{"schema_version": 1, "lines": []}', "its schema_version is 1"),
        ('{"schema_version": 2, "rows": 3}', "the result is damaged"),
        (
            '{"schema_version": 2, "truecost": "0", "rows": [], "problems": [], "inputs": []}',
            "the result contains no rows",
        ),
    ],
)
def test_bad_results(run, tmp_path, content, said):
    (tmp_path / "result.json").write_text(content, encoding="utf-8")
    for path in (tmp_path, tmp_path / "result.json"):
        code, out, err = run(path, "--gate", "act_dcf:max_upper=1")
        assert (code, out) == (3, "")
        assert f"{tmp_path / 'result.json'}: {said}" in err


def test_a_row_that_is_damaged_is_named(run, result):
    path = result / "result.json"
    path.write_text(path.read_text(encoding="utf-8").replace("0.45", '"x"'), encoding="utf-8")
    code, _, err = run(path, "--gate", "act_dcf:max_upper=1")
    assert code == 3
    assert "at rows[1].lower" in err.replace("[...]", "[1]")


def test_no_result(run, tmp_path):
    code, _, err = run(tmp_path, "--gate", "act_dcf:max_upper=1")
    assert code == 3
    assert "there is no result.json in this folder" in err
    code, _, err = run(tmp_path / "none.json", "--gate", "act_dcf:max_upper=1")
    assert code == 3
    assert "there is no such file" in err


# -- Markdown, JUnit, files


GATES = (
    "act_dcf:max_upper=0.5",
    "act_dcf:max_upper=0.1,system=A,name=the | strict_ <one>",
    "act_dcf:max_upper=0.35,system=A",
    "act_dcf:max_upper=0.35,system=A,undecided=pass",
)


def test_markdown():
    lines = markdown(verdicts_of(*GATES), "My gates").splitlines()
    assert lines[0] == "### My gates: 1 failed, 2 undecided, 2 passed"
    assert lines[2:5] == [
        "| verdict | gate | system | measure | value [interval] | limit | why |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        r"| pass |  | A | act_dcf | 0.30 \[0.20, 0.40\] | \<= 0.5 "
        "| the upper end 0.40 is within the limit |",
    ]
    assert [line.split(" | ")[0] for line in lines[4:]] == [
        *("| pass", "| pass", "| **fail**", "| **undecided**", "| undecided (passes)"),
    ]
    assert r"the \| strict\_ \<one\>" in lines[6]


def test_markdown_escapes_what_would_break_the_table():
    odd = row(subset="a|b\n`c` *d* _e_ f_g <h>", system="A")
    gate = Gate(measure="act_dcf", max_upper=0.5, subset=odd.dims["subset"])
    [line] = markdown(check([gate], [odd])).splitlines()[4:]
    assert r"| a\|b \`c\` \*d\* \_e\_ f_g \<h\> |" in line
    assert len(line.replace(r"\|", "").split("|")) == 9  # as many cells as the head has


def test_markdown_of_nothing():
    assert markdown(()) == "### Quality gates: none\n"


def test_junit():
    suites = ET.fromstring(junit(verdicts_of(*GATES)))
    [suite] = suites
    counts = {"tests": "5", "failures": "2", "errors": "0", "skipped": "1"}
    assert suites.attrib == counts
    assert suite.attrib == {"name": "truecost gates", **counts}
    assert [[child.tag for child in case] for case in suite] == [
        *([], [], ["failure"], ["failure"], ["skipped"]),
    ]
    assert [case.get("name") for case in suite][:3] == [
        *("act_dcf <= 0.5 (A)", "act_dcf <= 0.5 (B)", "the | strict_ <one> (A)"),
    ]
    failure = suite[2][0]
    assert (failure.get("type"), suite[3][0].get("type")) == ("fail", "undecided")
    assert "act_dcf 0.30 [0.20, 0.40], wanted <= 0.1" in failure.text
    assert "act_dcf|seed:0" in failure.text


@given(st.text())
def test_junit_is_valid_whatever_the_names(name):
    odd = row(system=name or "x", signature=name)
    gate = Gate(measure="act_dcf", max_upper=0.1, name=name or None)
    text = junit(check([gate], [odd]), name)
    [suite] = ET.fromstring(text.encode())
    assert suite.get("failures") == "1"
    if name.isprintable() and name:
        assert suite[0].get("name") == f"{name} ({name})"


def test_files(run, result, tmp_path):
    gate = ("--gate", "act_dcf:max_upper=0.35")
    assert run(result, *gate)[0] == 4
    assert [p.name for p in tmp_path.rglob("*")] == ["out", "result.json"]
    assert run(result, *gate, "-o", "ci/gates", "--junit", "j/t.xml", "--markdown", "t.md")[0] == 4
    verdicts = verdicts_of("act_dcf:max_upper=0.35")
    for name in ("ci/gates/gates.md", "t.md"):
        assert (tmp_path / name).read_text(encoding="utf-8") == markdown(verdicts)
    for name in ("ci/gates/gates.xml", "j/t.xml"):
        assert (tmp_path / name).read_text(encoding="utf-8") == junit(verdicts)
    assert not list(tmp_path.rglob("*.part"))


def test_one_file_cannot_hold_both(run, result, tmp_path):
    both = ("--markdown", "x", "--junit", "x")
    code, _, err = run(result, "--gate", "act_dcf:max_upper=0.35", *both)
    assert code == 2
    assert "x: this file is named for Markdown and for JUnit" in err
    assert not (tmp_path / "x").exists()


def test_no_half_written_files(run, result, tmp_path):
    (tmp_path / "gates.xml").mkdir()
    (tmp_path / "gates.md").write_text("earlier", encoding="utf-8")
    code, out, err = run(result, "--gate", "act_dcf:max_upper=0.35", "-o", tmp_path)
    assert code == 3
    assert "gates.xml: cannot be written (it is a folder)" in err
    assert "undecided" in out  # the verdict is said all the same
    assert (tmp_path / "gates.md").read_text(encoding="utf-8") == "earlier"
    assert not list(tmp_path.rglob("*.part"))


def test_a_file_in_the_place_of_the_folder(run, result, tmp_path):
    (tmp_path / "ci").write_text("", encoding="utf-8")
    code, _, err = run(result, "--gate", "act_dcf:max_upper=0.5", "-o", "ci")
    assert code == 3
    assert "ci/gates.md: cannot be written" in err


def test_a_workflow_gets_an_error_for_each_gate_that_failed(run, result, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    fails = ("--gate", "act_dcf:max_upper=0.0001,system=B,name=50%: a b")
    code, out, err = run(result, *fails, "--quiet")
    assert code == 1
    assert "::" not in out
    [line] = [line for line in err.splitlines() if line.startswith("::")]
    assert line.startswith("::error title=gate fail::50%25: a b: act_dcf ")
    assert "(B), wanted <= 0.0001: the whole interval lies above the limit" in line
    monkeypatch.setenv("GITHUB_ACTIONS", "")
    assert "::" not in run(result, *fails)[2]
    undecided = verdicts_of("act_dcf:max_upper=0.3,undecided=pass,system=A")
    assert [line.split(" ")[0] for line in annotations(undecided)] == ["::warning"]


def test_the_step_summary_is_appended_to(run, result, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("# Build\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    for _ in range(2):
        assert run(result, "--gate", "act_dcf:max_upper=0.5")[0] == 0
    table = markdown(verdicts_of("act_dcf:max_upper=0.5"))
    assert summary.read_text(encoding="utf-8") == f"# Build\n{table}\n{table}\n"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    code, _, err = run(result, "--gate", "act_dcf:max_upper=0.5")
    assert code == 3
    assert "GITHUB_STEP_SUMMARY names this file" in err


def test_help_needs_no_heavy_import():
    code = """if True:
        import sys
        from truecost import cli
        cli.run(["gate", "--help"])
        print([m for m in ("numpy", "polars") if m in sys.modules], file=sys.stderr)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stderr.strip() == "[]"
    assert "--gates" in done.stdout


def test_a_result_that_is_no_text_or_whose_rows_do_not_fit(run, result, tmp_path):
    import json

    text, file = (tmp_path / "out" / "result.json").read_bytes(), tmp_path / "damaged.json"
    file.write_bytes(text.replace(b'"cll', b'"\xffll', 1) if b'"cll' in text else text + b"\xff")
    code, _, err = run(file, "--gate", "act_dcf<=0.5")
    assert code == 3
    assert "is not UTF-8 text" in err
    content = json.loads(text)
    content["rows"][0]["parameters"] = {"costs": {"miss": "much", "fa": 1}}
    file.write_text(json.dumps(content))
    code, _, err = run(file, "--gate", "act_dcf<=0.5")
    assert code == 3
    assert "rows[0] has costs that are not numbers" in err


TWICE = "[[gate]]\nmeasure = 'act_dcf'\nsystem = 'B'\n{}\n"


def test_two_limits_on_one_side_of_the_same_rows_are_refused(run, result, tmp_path):
    own = TWICE.format("max_upper = 1") + TWICE.format("min_lower = 0")
    own += TWICE.format("max_upper = 2\nname = 'again'")
    (tmp_path / "gates.toml").write_text(own)
    code, out, err = run(result, "--gates", "gates.toml")
    said = "limits max_upper of the same rows as gates.toml: gate 1 (act_dcf): leave one of them"
    assert (code, out) == (2, "")
    assert f"gates.toml: gate 3 {said}" in err
    (tmp_path / "gates.toml").write_text(TWICE.format("max_upper = 1"))
    code, _, err = run(result, "--gates", "gates.toml", "--gate", "act_dcf:max_upper=1,system=B")
    assert (code, f"--gate act_dcf:max_upper=1,system=B {said}" in err) == (2, True)
    code, _, err = run(result, "--gates", "gates.toml", "--gate", "act_dcf:max_upper=1,system=A")
    assert code in (0, 1, 4), err


def test_a_study_refuses_two_limits_on_one_side_before_it_reads(tmp_path, capfd):
    study = "[systems.B]\nfile = 'there-is-none.csv'\n[data]\ntype = 'llr'\n"
    study += TWICE.format("max_upper = 1") + TWICE.format("max_upper = 2")
    (tmp_path / "study.toml").write_text(study)
    assert cli.run(["run", str(tmp_path / "study.toml")]) == 2
    assert "[[gate]] 2 limits max_upper of the same rows as [[gate]] 1" in capfd.readouterr().err
