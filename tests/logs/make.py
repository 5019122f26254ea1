"""How the logs of this folder were made: by the tools themselves, on six questions.

    python -m venv venv && venv/bin/pip install lm-eval==0.4.13 inspect_ai==0.3.285
    venv/bin/python tests/logs/make.py

`lm-eval` runs its model `dummy`, which draws log-likelihoods and says "lol"; `inspect_ai` runs
`mockllm` with outputs and usage that are set here. Of the logs of inspect_ai what names a machine
or repeats the outputs is taken away (the arguments of the model, versions of packages, events,
messages); what is read stays as it was written.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
QUESTIONS = [
    ("France", ["Paris", "Rome", "Bonn"], 0),
    ("Italy", ["Paris", "Rome", "Bonn"], 1),
    ("Peru", ["Lima", "Quito", "La Paz"], 0),
    ("Chad", ["Bamako", "N'Djamena", "Abuja"], 1),
    ("Cuba", ["Havana", "Kingston", "Nassau"], 0),
    ("Oman", ["Doha", "Manama", "Muscat"], 2),
]
TASK = """task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: data.jsonl}}}}
test_split: test
output_type: {kind}
doc_to_text: "Q: capital of {{{{country}}}}\\nA:"
doc_to_target: {target}
metadata: {{version: 1.0}}
{more}
"""
CHOICES = """doc_to_choice: "{{choices}}"
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true},
  {metric: acc_norm, aggregation: mean, higher_is_better: true}]
"""
FREE = """metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true},
  {metric: bleu, aggregation: bleu, higher_is_better: true}]
generation_kwargs: {until: ["\\n"]}
filter_list:
  - name: strict
    filter: [{function: regex, regex_pattern: "Answer: (.*)"}, {function: take_first}]
  - {name: flexible, filter: [{function: take_first}]}
"""


def lm_eval() -> None:
    """The samples of two tasks: choices with two metrics, and free answers with two filters and a
    metric (BLEU) that is no number a sample.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rows = [
            {"country": country, "choices": choices, "answer": answer}
            for country, choices, answer in QUESTIONS
        ]
        (place / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        choice = TASK.format(name="capitals", kind="multiple_choice", target="answer", more=CHOICES)
        (place / "capitals.yaml").write_text(choice)
        target = '"{{choices[answer]}}"'
        free = TASK.format(name="free", kind="generate_until", target=target, more=FREE)
        (place / "free.yaml").write_text(free)
        command = [
            *(str(Path(sys.executable).parent / "lm-eval"), "run", "--model", "dummy"),
            *("--model_args", "pretrained=org/m", "--tasks", "capitals,free"),
            *("--include_path", ".", "--log_samples", "--output_path", "out"),
        ]
        subprocess.run(command, cwd=place, check=True)
        for name in ("capitals", "free"):
            [found] = place.glob(f"out/*/samples_{name}_*.jsonl")
            shutil.copy(found, HERE / f"samples_{name}.jsonl")


SAID = (
    *("Paris", "the capital is Milan", "Lima please", "I refuse", "not scored", "Doha"),
    *("Paris", "Rome", "Cusco", "N'Djamena", "Havana", "Muscat please"),
)


def inspect() -> None:
    """The same run of two epochs as `.eval` and as `.json`."""
    import inspect_ai
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, accuracy, match, mean, scorer
    from inspect_ai.solver import generate

    @scorer(metrics={"words": [mean()], "polite": [mean()]})
    def style():
        async def score(state, target):
            said = state.output.completion
            return Score(value={"words": len(said.split()), "polite": "please" in said})

        return score

    @scorer(metrics=[accuracy()])
    def graded():
        async def score(state, target):
            said = state.output.completion
            if said == "not scored":
                return Score.unscored()
            partial = "P" if "capital" in said else "I"
            value = "N" if "refuse" in said else "C" if target.text in said else partial
            return Score(value=value, answer=said)

        return score

    def outputs():
        for text in SAID:
            found = ModelOutput.from_content("mockllm/model", text)
            sizes = {"input_tokens": 10, "output_tokens": len(text), "total_tokens": 10 + len(text)}
            found.usage = ModelUsage(**sizes)
            yield found

    samples = [
        Sample(
            input=f"What is the capital of {country}?",
            target=choices[answer],
            id=f"q{k}",
            metadata={"region": "Europe" if k < 2 else "other", "choices": choices},
        )
        for k, (country, choices, answer) in enumerate(QUESTIONS)
    ]
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("eval", "json"):
            task = Task(
                dataset=MemoryDataset(samples),
                solver=generate(),
                scorer=[match(location="any"), style(), graded()],
                epochs=2,
                name="capitals",
            )
            model = get_model("mockllm/model", custom_outputs=[*outputs()])
            inspect_ai.eval(
                task,
                model=model,
                log_dir=folder,
                log_format=kind,
                display="none",
                max_samples=1,
                max_connections=1,
            )
            [found] = Path(folder).glob(f"*.{kind}")
            (packed if kind == "eval" else whole)(found)


def packed(path: Path) -> None:
    """The header and the summaries of an archive, packed again as they were."""
    from backports.zstd import zipfile

    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
        summaries = archive.read("summaries.json")
    with zipfile.ZipFile(HERE / "capitals.eval", "w", zipfile.ZIP_ZSTANDARD) as archive:
        archive.writestr("summaries.json", summaries)
        archive.writestr("header.json", json.dumps(nameless(header)))


def whole(path: Path) -> None:
    """A log in JSON without what is long."""
    log = nameless(json.loads(path.read_text()))
    for sample in log["samples"]:
        for key in ("messages", "events", "events_data", "attachments", "store", "output"):
            sample.pop(key, None)
    (HERE / "capitals.json").write_text(json.dumps(log, indent=1) + "\n")


def nameless(header: dict) -> dict:
    """A header without what tells of the machine."""
    for key in ("model_args", "packages", "task_file", "revision"):
        header["eval"].pop(key, None)
    header.pop("plan", None)
    return header


if __name__ == "__main__":
    lm_eval()
    inspect()
