"""`--table`: the table that is shown, as a file for papers, pages and programs."""

import inspect
import io
import re
import subprocess
from importlib.resources import files
from shutil import which

import polars as pl
import pytest

import truecost as tc
from truecost import cli
from truecost.cli import verbs
from truecost.cli.options import Output
from truecost.cli.tables import Columns
from truecost.pictures.tables import best_of
from truecost.tasks import find, names

DEMO = files("truecost") / "data" / "demo"
LOGISTIC, NETWORK = (str(DEMO / f"{name}.csv") for name in ("logistic", "network"))
CHOSEN = {"type": "llr", "id": "trial", "unit": "speaker", "prior": 0.05, "replicates": 100}
FLAGS = (
    "--type=llr",
    "--id=trial",
    "--unit=speaker",
    "--prior=0.05",
    "--replicates=100",
    "--quiet",
)


@pytest.fixture(scope="module")
def compared():
    return tc.compare({"logistic": LOGISTIC, "network": NETWORK}, **CHOSEN)


@pytest.fixture
def table(tmp_path, capsys):
    """The file that a command writes beside what it prints."""

    def ran(ending, *words):
        target = tmp_path / f"t.{ending}"
        assert cli.run([*words, *FLAGS, "--table", str(target)]) == 0
        printed = capsys.readouterr().out
        assert printed
        return target.read_bytes() if ending == "parquet" else target.read_text()

    return ran


def test_latex_is_the_table_with_the_best_in_bold(table, compared):
    text = table("tex", "compare", LOGISTIC, NETWORK)
    assert text == compared.to_latex()
    tables = text.split("\n\n")
    assert len(tables) == 2
    for one in tables:
        lines = one.strip().splitlines()
        columns = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", lines[0])[1]
        marks = [lines[1], lines[3], lines[-2], lines[-1]]
        assert marks == ["\\toprule", "\\midrule", "\\bottomrule", "\\end{tabular}"]
        for line in [lines[2], *lines[4:-2]]:
            assert line.endswith(r" \\")
            assert len(line.split(" & ")) == len(columns)
            assert not re.search(r"(?<!\\)[%#_]", line)
    assert r"network & act\_dcf & 0.51 & [0.38, 0.67]" in tables[0]  # inconclusive
    assert r"network & p\_miss & \textbf{39\%} & [" in tables[0]
    assert r"logistic & act\_dcf & 0.59 & [" in tables[0]
    assert tables[0].count(r"\textbf") == 1  # what the comparison decides
    assert r"\textbf" not in tables[1]


# en dash, at most, at least, plus or minus, times, micro, quotation marks
UNUSUAL = "\u2013\u2264\u2265\u00b1\u00d7\u00b5\u201c\u201d"


@pytest.mark.skipif(which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_whatever_systems_and_subsets_are_called(tmp_path):
    scores = pl.read_csv(NETWORK).with_columns(
        odd=pl.when(pl.col("active") > 0)
        .then(pl.lit(r"a_b%c#1&{x}~^\$ é <q> `it's` [y]|z" + UNUSUAL))
        .otherwise(pl.lit("plain"))
    )
    other = scores.with_columns(pl.col("score") * 0.9 + 0.1)
    systems = {r"[1] net_%#&{}~^\$": scores, "*two…": other}
    tables = [
        tc.compare(systems, subsets={"odd_%#": "odd"}, **CHOSEN),
        tc.leaderboard(systems, **CHOSEN),
        tc.plan(systems, half_width=0.1, **CHOSEN),
    ]
    (tmp_path / "t.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs}\begin{document}"
        + "".join(table.to_latex() for table in tables)
        + r"\end{document}"
    )
    words = "pdflatex -interaction=nonstopmode -halt-on-error t.tex"
    done = subprocess.run(words.split(), cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "t.pdf").stat().st_size > 10_000


def test_markdown_of_a_leaderboard_has_the_first_rank_in_bold(table):
    careless = pl.read_csv(NETWORK).with_columns(pl.col("score") * 3 + 2)
    board = tc.leaderboard({"network": NETWORK, "careless": careless}, **CHOSEN)
    [head, under, *rows] = board.to_markdown().splitlines()
    assert head.startswith("| rank | place | system | act_dcf | interval |")
    assert set(under) <= set("| -:")
    assert [("**" in row, row.split(" | ")[2]) for row in rows] == [
        (True, "network"),
        (False, "careless"),
    ]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_programs_get_all_digits(table, compared, ending):
    found = table(ending, "compare", LOGISTIC, NETWORK)
    if ending == "csv":
        assert found == compared.to_csv()
    else:
        frame = pl.read_parquet(io.BytesIO(found))
        assert frame.equals(compared.to_polars())
        assert frame["value"][0] == compared.rows[0].value


COMMANDS = {  # what it prints beside, and a column of its table
    "score": ((NETWORK,), "value"),
    "plan": ((NETWORK, "--half-width", "0.1"), "units_needed"),
    "leaderboard": ((LOGISTIC, NETWORK), "rank"),
}


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_hyphen_is_csv_alone_on_standard_output(verb, capsys):
    words, column = COMMANDS[verb]
    assert cli.run([verb, *words, *FLAGS, "--table", "-"]) == 0
    frame = pl.read_csv(io.StringIO(capsys.readouterr().out))
    assert column in frame.columns
    assert {"act_dcf"} <= {*frame["measure"]}


def test_checks_verdicts_and_json_go_with_a_table(tmp_path, compared, capsys):
    target = tmp_path / "t.csv"
    assert cli.run(["validate", NETWORK, "--type", "llr", "--table", str(target)]) == 0
    assert {*pl.read_csv(target)["state"]} == {"ok"}
    assert cli.run(["score", NETWORK, *FLAGS, "--json", "--table", str(target)]) == 0
    assert pl.read_csv(target)["measure"][0] == "act_dcf"
    compared.save(tmp_path / "out")
    gate = ["gate", str(tmp_path / "out"), "--gate", "act_dcf:max_upper=0.7,system=network"]
    assert cli.run([*gate, "--table", str(target)]) == 0
    assert pl.read_csv(target)["verdict"].to_list() == ["pass"]
    capsys.readouterr()
    assert cli.run(["report", str(tmp_path / "out"), "--table", "-"]) == 0
    assert pl.read_csv(io.StringIO(capsys.readouterr().out))["value"][0] == compared.rows[0].value


REFUSED = {
    "ending": (["--table", "t.xlsx"], "ends in .tex, .md, .csv, .parquet, or - for CSV"),
    "folder": (["--table", "nowhere/t.md"], "--table nowhere/t.md: there is no such folder"),
    "a folder": (["--table", "."], "--table .: "),
    "json": (["--table", "-", "--json"], "--json and --table - both write standard output"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("verb", ["score", "plan", "validate"])
def test_what_cannot_be_written_is_refused_before_the_work(case, verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words, said = REFUSED[case]
    with pytest.MonkeyPatch.context() as patch:
        heard = io.StringIO()
        patch.setattr("sys.stderr", heard)
        patch.setattr("truecost.study.running.run", None)
        assert cli.run([verb, NETWORK, "--type", "llr", *words]) == 2
    assert said in heard.getvalue()
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("task", names())
def test_every_verb_of_every_task_has_the_option(task):
    face = find(task)
    for verb in face.verbs:
        output = inspect.signature(verbs.verb(face, verb)).parameters["output"]
        assert isinstance(output.default, Output), (task, verb)
        assert output.default.table is None


def test_what_is_best_is_said_of_alike_rows_only(compared):
    rows = compared.parts[0].estimates
    of = {k: rows[k].label for k in best_of(rows)}
    assert len(of) == len({*of.values()}) == 7
    assert best_of(rows[:7]) == []  # one system
    twice = [rows[0], rows[0], rows[7]]
    assert best_of(twice[:2]) == []  # all alike
    assert best_of([*twice[:2], rows[7]]) == [2]


def test_an_empty_column_goes_and_the_best_stays():
    columns = Columns(("a", "note", "value"), (("x", "", "1"),), best=frozenset({(0, "value")}))
    assert columns.document().text("md") == "| a | value |\n| --- | --: |\n| x | **1** |\n"
