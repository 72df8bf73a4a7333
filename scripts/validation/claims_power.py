"""How often each of the paper's claims comes out supported, contradicted or otherwise, on invented studies.

A study has the paper's number of seeds, in tables as claims read them, with few rows a run. In each scenario every part
of the claim is true, false or at its edge, by a number of standard deviations of its paired difference:

    true        by 0.8
    false       by 0.8
    edge        no difference; of what is to be alike or beyond a margin, a difference as large as the margin
    skewed      the same, every number lognormal in place of normal
    one part    at its edge, by turns each, the others true by 0.8

Writes the table between the marks of docs/claims.md, where rows of claims that are not asked for stay:

    python scripts/validation/claims_power.py --studies 1000 --write docs/claims.md
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scorebo.report.claims import (
    CLAIMS,
    MissingRunsError,
    Part,
    Sample,
    active_learning,
    high_dimensional,
    judge,
    optimization,
    reference,
)
from scorebo.seeds import generator

EFFECT = 0.8
SCENARIOS = ("true", "false", "edge", "skewed", "one part")
MARKS = "<!-- table: scripts/validation/claims_power.py -->", "<!-- end of table -->"
PAIR = math.sqrt(2.0)  # standard deviation of a difference of two runs' numbers, each with 1
TRUTH = reference.drawn_with("gp8")
Table = pd.DataFrame
Levels = Mapping[str, float | np.ndarray]  # of a method; a mean, or one a seed


class Study:
    """Invented runs, and how far each part of the claim is true.

    Args:
        rng: of the study.
        seeds: runs of every method on every task.
        effect: of all parts, but of `only`, which is at its edge.
        skewed: lognormal numbers.
    """

    def __init__(
        self, rng: np.random.Generator, seeds: int, effect: float, only: str = "", skewed: bool = False
    ) -> None:
        self.rng, self.seeds, self.effect, self.only, self.skewed = rng, seeds, effect, only, skewed
        self.parts: list[str] = []
        self.tables: dict[str, Table] = {}
        self.sets: dict[str, Table] = {}
        self.asked: set[str] = set()

    def by(self, part: str) -> float:
        """By how many standard deviations a part is true."""
        self.parts.append(part)
        return 0.0 if part == self.only else self.effect

    def noise(self, scale: float = 1.0, median: bool = False) -> np.ndarray:
        """One number a seed, of mean 0 (or median 0) and that standard deviation."""
        if not self.skewed:
            return scale * self.rng.normal(size=self.seeds)
        values = self.rng.lognormal(0.0, 0.75, self.seeds)
        return scale * (values - (1.0 if median else math.exp(0.28125))) / 1.150  # its standard deviation

    def runs(self, experiment: str) -> Table:
        """As `Evidence.runs`."""
        if experiment not in self.tables:
            raise MissingRunsError(f"no runs of experiment={experiment}")
        return self.tables[experiment]

    def hyperparameters(self, experiment: str, **only: str) -> Table:
        """As `Evidence.hyperparameters`."""
        table = self.sets[experiment]
        for column, name in only.items():
            table = table[table[column] == name]
        return table


def table(study: Study, columns: Sequence[str], runs: Mapping[tuple[str, str, str], Sequence[np.ndarray]]) -> Table:
    """Rows of (task, model, method) -> values of the columns, all alike, at each model: `models x seeds`."""
    frames = []
    for (task, model, method), values in runs.items():
        models = len(values)
        value = np.concatenate(values)
        frames.append(
            pd.DataFrame(
                {"benchmark": task, "model": model, "acquisition": method, "maximize": False}
                | {"seed": np.tile(np.arange(1, study.seeds + 1), models)}
                | {"num_observations": np.repeat(np.arange(10, 10 * models + 1, 10), study.seeds)}
                | dict.fromkeys(columns, value)
            )
        )
    return pd.concat(frames, ignore_index=True)


def ends(study: Study, column: str, tasks: Iterable[str], levels: Callable[[str], Levels], unit: float = 1.0) -> Table:
    """Runs of one model that end at a level with noise of their own, of standard deviation `unit`."""
    runs = {}
    for task in tasks:
        for method, level in levels(task).items():
            value = unit * (level + study.noise())
            runs[task, "m", method] = [10.0**value if column in ("inference_regret", "rmse") else value]
    return table(study, [column], runs)


def hyper(
    study: Study, task: str, curves: Mapping[str, Sequence[Mapping[str, np.ndarray]]], wide: Levels | None = None
) -> Table:
    """Two sets a model, `wide` apart either way: method -> models -> parameter -> log10, one a seed."""
    frames = []
    for method, models in curves.items():
        for (k, model), side in itertools.product(enumerate(models), (-1.0, 1.0)):
            own = side * (wide or {}).get(method, 0.05)
            frames.append(
                pd.DataFrame(
                    {"benchmark": task, "model": "m", "acquisition": method, "seed": np.arange(1, study.seeds + 1)}
                    | {"num_observations": 10 * (k + 1), "sample": int(side)}
                    | {name: 10.0 ** (value + own) * np.ones(study.seeds) for name, value in model.items()}
                )
            )
    return pd.concat(frames, ignore_index=True)


@functools.cache
def middle(tasks: int) -> float:
    """Standard deviation of the median of as many differences of two runs."""
    return PAIR * float(np.median(generator("median").normal(size=(200_000, tasks)), axis=1).std())


@functools.cache
def rank_level(levels: tuple[float, ...], better: tuple[int, ...], worse: tuple[int, ...], tasks: int = 6) -> float:
    """What to multiply levels by, so that the least certain difference of ranks, their mean over tasks, is EFFECT.

    Without `worse` the difference is that from the middle rank.
    """
    noise = generator("ranks").normal(size=(4000, tasks, len(levels)))
    low, high = 0.0, 4.0
    for _ in range(20):
        scale = (low + high) / 2
        ranks = (noise + scale * np.asarray(levels)).argsort(-1).argsort(-1).mean(axis=1)
        compared = [ranks[:, k] for k in worse] or [np.full(4000, (len(levels) - 1) / 2)]
        gaps = [there - ranks[:, k] for k in better for there in compared]
        low, high = (scale, high) if min(gap.mean() / gap.std() for gap in gaps) < EFFECT else (low, scale)
    return scale / EFFECT


def priors(study: Study) -> None:
    """P1."""
    levels = {"true": -PAIR * study.by("true"), "bo_lognormal": 0.0, "botorch": PAIR * study.by("lognormal")}
    runs = {("gp8", model, "nei"): [10.0 ** (level + study.noise())] for model, level in levels.items()}
    study.tables["priors"] = table(study, ["simple_regret"], runs)


def likelihood(study: Study) -> None:
    """P2."""
    unit = rank_level((-1.0, 0.0, 0.0, 1.0, 1.0), (0, 1, 2), (3, 4))
    unit = max(unit, rank_level((-1.0, 0.0, 0.0, 1.0, 1.0), (0,), (1, 2, 3, 4)))
    best, rest = unit * study.by("first"), unit * study.by("next")
    levels = dict(zip(active_learning.METHODS, (-best, 0.0, 0.0, rest, rest), strict=True))
    study.tables["al_mll"] = ends(study, "negative_mll", active_learning.TASKS, lambda task: levels)


def stable(study: Study) -> None:
    """P3: the metric goes up and down by as much as a run's number says, on a logarithmic scale."""
    runs = {}
    for method in active_learning.METHODS:
        level = PAIR * study.by("stable") if method in active_learning.OTHERS else 0.0
        jump = 10.0 ** (0.3 * (level + study.noise()))
        runs["ishigami", "m", method] = [0 * jump, 0 * jump, 0 * jump, jump, 0 * jump]
    study.tables["al_mll"] = table(study, ["negative_mll"], runs)


def error(study: Study) -> None:
    """P4."""
    first = rank_level((0.0, 0.0, 0.0, 0.0, -1.0), (4,), (0, 1, 2, 3)) * study.by("first")
    study.tables["al_rmse"] = ends(
        study,
        "rmse",
        active_learning.TASKS,
        lambda task: dict.fromkeys(active_learning.METHODS, 0.0) | {"sal_ws": -first},
    )


def regret(study: Study) -> None:
    """P5: a model early, one late."""
    methods = ("scorebo_hr", *optimization.RIVALS)
    early = rank_level((-1.0, 0.0, 0.0, 0.0), (0,), ()) * study.by("early")
    late = rank_level((-1.0, 0.0, 0.0, 0.0), (0,), (1, 2, 3)) * study.by("late")
    runs = {}
    for task, method in itertools.product(optimization.TASKS, methods):
        own = method == "scorebo_hr"
        values = [early * own + study.noise(), -late * own + study.noise()]
        runs[task, "m", method] = [10.0**value for value in values]
    study.tables["bo_regret"] = table(study, ["inference_regret"], runs)


def divergence(study: Study) -> None:
    """P6: one rival ahead, the others behind; parameters that move in the second half alone."""
    best = study.by("not best")
    levels = {"scorebo_hr": 0.0, "jes": -PAIR * best, "mes": PAIR * EFFECT, "nei": PAIR * EFFECT}
    study.tables["bo_regret"] = ends(study, "inference_regret", ["rosenbrock4"], lambda task: levels)
    growth, less = study.by("growth"), study.by("Branin")
    more = less + PAIR * study.by("less than Rosenbrock")

    def grows(mean: float) -> list[dict[str, np.ndarray]]:
        slope = {name: 0.02 * (mean + study.noise(median=True)) for name in ("outputscale", "lengthscale_1")}
        return [{name: step * each for name, each in slope.items()} for step in (0, 0, 0, 1, 2)]

    curves = {method: grows(more if method == "scorebo_hr" else growth) for method in optimization.QUERIED}
    study.sets["rosenbrock4_hyperparameters"] = hyper(study, "rosenbrock4", curves)
    study.sets["bo_regret"] = hyper(study, "branin", {"scorebo_hr": grows(less)})


def gp_samples(study: Study) -> None:
    """P7."""
    runs = {}
    for model in ("bo_lognormal", "botorch"):
        runs["gp8", model, "nei"] = [10.0 ** study.noise()]
        runs["gp8", model, "scorebo_hr"] = [10.0 ** (study.noise() - PAIR * study.by(model))]
    study.tables["gp8_regret"] = table(study, ["inference_regret"], runs)


def gp_hyperparameters(study: Study) -> None:
    """P8: ℓ1 has an error of its own, the other parameters share one, ℓ6–ℓ8 theirs."""
    behind = {name: study.by(name) for name in ("distance", "spread", "ℓ1")}
    for model in ("lognormal", "botorch"):
        curves, wide = {}, {}
        for method, told in optimization.INACTIVE.items():
            worse = {name: PAIR * each * (method == "nei") for name, each in behind.items()}
            # ℓ6–ℓ8 are nearer to the truth under SCoreBO, and vary: made up for by the other six.
            nearer = (optimization.INACTIVE["scorebo_hr"] - told) * 3 / 6
            away = 4.0 - nearer + 0.22 * worse["distance"] + 0.2 * study.noise()
            logs = {name: level + away for name, level in TRUTH.items()}
            logs["lengthscale_1"] = TRUTH["lengthscale_1"] + 4.0 + 0.02 * (worse["ℓ1"] + study.noise())
            edge = optimization.ABOUT * (1 - study.by(f"about {told}") / EFFECT)
            unimportant = told + edge + optimization.ABOUT / EFFECT * study.noise()
            logs |= {f"lengthscale_{k}": unimportant for k in (6, 7, 8)}
            wide[method] = 10.0 + worse["spread"] + study.noise()
            curves[method] = [logs]
        study.sets[f"gp8_hyperparameters_{model}"] = hyper(study, "gp8", curves, wide)


def saas(study: Study) -> None:
    """P9."""
    gains = {task: PAIR * study.by(task) for task in high_dimensional.SAAS}
    methods = dict.fromkeys(("scorebo_hr", *high_dimensional.RIVALS), 0.0)
    study.tables["saas_final"] = ends(
        study, "best_observed", high_dimensional.SAAS, lambda task: methods | {"scorebo_hr": -gains[task]}
    )
    about = high_dimensional.DECADES
    active = high_dimensional.ACTIVE_LOG + about * (1 - study.by("active") / EFFECT) + about / EFFECT * study.noise()
    gaps = {"scorebo_hr": study.by("found"), "nei": -study.by("not found"), "bald": 0.0}
    sooner, curves = 4.0 * PAIR * study.by("sooner"), {}
    for method, gap in gaps.items():
        level, inactive = (active if method == "scorebo_hr" else 0.0), gap + study.noise(median=True)
        start = 40.0 + sooner * (method == "bald") + 4.0 * study.noise()
        names = [f"lengthscale_{k}" for k in range(1, 7)]
        models = [dict.fromkeys(names, start)] * 3 + [
            {name: level + inactive * (k >= 4) for k, name in enumerate(names)}
        ]
        curves[method] = models
    study.sets["saas_hyperparameters"] = hyper(study, "ackley4_25", curves)


def alike_in_spreads(study: Study, part: str, tasks: int) -> tuple[float, float, float]:
    """Standard deviations of what a seed's runs share and do not, of 1 together, and a difference within ALIKE."""
    own = high_dimensional.ALIKE / EFFECT / middle(tasks)
    return math.sqrt(1 - own**2), own, high_dimensional.ALIKE * (1 - study.by(part) / EFFECT)


def additive(study: Study) -> None:
    """P10."""
    shared, own, shift = alike_in_spreads(study, "values", 2)
    fewer = {"nei": high_dimensional.FAR + PAIR * 0.3 * study.by("pairs"), "scorebo_hr": 0.0}
    gain = high_dimensional.ALIKE - PAIR * own * study.by("cosmology")
    frames = []
    for task in high_dimensional.ADDITIVE:
        common = shared * study.noise()
        better = gain if task == "cosmology" else shift
        levels = {"nei": 0.0, "scorebo_hr": -better}
        runs = {(task, "m", m): [common + level + own * study.noise()] for m, level in levels.items()}
        frames.append(table(study, ["best_observed"], runs))
        split = np.concatenate([1.0 + fewer[method] + 0.3 * study.noise() for method in levels])
        frames[-1]["decomposition_error"] = split
    study.tables["addgp"] = pd.concat(frames, ignore_index=True)


def deep_learning(study: Study) -> None:
    """P11: best on two tasks; on the third one is ahead, and two are behind."""
    best, second = PAIR * study.by("best"), PAIR * study.by("second")
    levels = {"scorebo_hr": 0.0, "jes": best, "mes": best, "nei": best}
    third = {"scorebo_hr": 0.0, "jes": -PAIR * EFFECT, "mes": second, "nei": second}
    tasks = high_dimensional.PD1
    study.tables["pd1"] = ends(study, "best_observed", tasks, lambda task: third if task == tasks[2] else levels)


def _alike(study: Study, column: str, tasks: Sequence[str], first: str, second: str, part: str) -> Table:
    margin = optimization.ALIKE[column]
    unit = margin / EFFECT / middle(len(tasks))
    shift = margin * (1 - study.by(part) / EFFECT) / unit
    return ends(study, column, tasks, lambda task: {first: shift, second: 0.0}, unit)


def matching(study: Study) -> None:
    """P12."""
    study.tables["sal_mc"] = _alike(study, "negative_mll", active_learning.TASKS, "sal_ws", "sal_ws_exact", "SAL")
    pair = ("scorebo_hr", "scorebo_hr_exact")
    study.tables["scorebo_mc"] = _alike(study, "inference_regret", optimization.TASKS, *pair, "SCoreBO")


def distances(study: Study) -> None:
    """P13."""
    behind = PAIR * study.by("WS")
    levels = {"scorebo_hr_exact": -behind, "scorebo_ws_exact": 0.0}
    study.tables["distances_ws"] = ends(study, "inference_regret", optimization.TASKS, lambda task: levels)
    pair = ("scorebo_hr", "scorebo_kl")
    study.tables["distances_kl"] = _alike(study, "inference_regret", optimization.TASKS, *pair, "KL")


def noise_levels(study: Study) -> None:
    """P14: where SCoreBO is better at low noise, it has as much less to lose."""
    shared, own, shift = alike_in_spreads(study, "alike", 4)
    low = -shift if study.effect < 0 else shift
    high, cost = study.by("high"), low + 2.0 * own * study.by("cost")
    frames = []
    for task, level in itertools.product(high_dimensional.SAAS[:2], high_dimensional.LEVELS):
        gain = (cost if high or not study.only else 0.0) if level == "high" else low
        common = shared * study.noise()
        levels = {"nei": 0.0, "scorebo_hr": -gain}
        runs = {(f"{task}_{level}", "m", m): [common + each + own * study.noise()] for m, each in levels.items()}
        frames.append(table(study, ["best_observed"], runs))
    study.tables["saas_noise"] = pd.concat(frames, ignore_index=True)


def few_sets(study: Study) -> None:
    """P18: a gain over three tasks, and no less of it with fewer sets."""
    scale = PAIR / math.sqrt(3.0)
    lost, gain = PAIR * scale * study.by("lost"), scale * study.by("gain")
    for name, level in (("pd1", gain), ("pd1_few_samples", gain - lost)):
        levels = {"nei": 0.0, "scorebo_hr": -level}
        study.tables[name] = ends(
            study, "best_observed", high_dimensional.PD1, dict.fromkeys(high_dimensional.PD1, levels).__getitem__
        )


def ishigami(study: Study) -> None:
    """P17: jumps in the first half, drift in the second."""
    fixed, names = {}, ["lengthscale_1", "lengthscale_2", "lengthscale_3"]
    truth = reference.fitted("ishigami", "al_lognormal_no_outputscale")
    worse = {name: PAIR * study.by(name) for name in ("estimate", "stable")}
    drift, low = study.by("drift"), PAIR * study.by("Hartmann")
    free, hartmann = {}, {}
    for method in active_learning.METHODS:
        behind = float(method in active_learning.OTHERS)
        away = 10.0 + worse["estimate"] * behind + study.noise()
        fixed[method] = [{name: truth[name] + away for name in names}]
        jump = 10.0 ** (0.3 * (worse["stable"] * behind + study.noise()) - 1)
        slope = 0.0002 * (drift + study.noise(median=True))
        steps = [0 * jump, jump, 0 * jump, slope, 2 * slope]
        free[method] = [dict.fromkeys([*names, "outputscale"], step) for step in steps]
        hartmann[method] = 10.0 ** (0.3 * (study.noise() - low * (method == "sal_hr")) - 1)
    study.sets["ishigami_hyperparameters_no_outputscale"] = hyper(study, "ishigami", fixed)
    study.sets["ishigami_hyperparameters"] = hyper(study, "ishigami", free)
    level = {method: [dict.fromkeys(names, np.zeros(study.seeds))] for method in active_learning.METHODS}
    study.sets["hartmann6_hyperparameters"] = hyper(study, "hartmann6_al", level, hartmann)


# By claim: the paper's number of seeds, and the invented runs.
STUDIES: dict[str, tuple[int, Callable[[Study], None]]] = {
    **{"P1": (20, priors), "P2": (25, likelihood), "P3": (25, stable), "P4": (25, error), "P5": (50, regret)},
    **{"P6": (50, divergence), "P7": (20, gp_samples), "P8": (20, gp_hyperparameters), "P9": (20, saas)},
    **{"P10": (20, additive), "P11": (20, deep_learning), "P12": (50, matching), "P13": (50, distances)},
    **{"P14": (20, noise_levels), "P17": (25, ishigami), "P18": (20, few_sets)},
}
SAL_SEEDS = 25  # of P12's first part
# Most numbers are of each seed alone, so that many studies are read from one table. Those of P8, P10, P14 and P18 are
# relative to a spread over seeds: `--batch 1` reads each study from a table of its own, and takes long.
BATCH = 100


def verdicts(claim: str, scenario: str, studies: int, batch: int = BATCH) -> Counter[str]:
    """How often each verdict comes out."""
    seeds, made = STUDIES[claim]
    effect = {"true": EFFECT, "false": -EFFECT, "one part": EFFECT}.get(scenario, 0.0)
    first = Study(generator("names"), seeds, effect)
    made(first)
    names = list(dict.fromkeys(first.parts)) if scenario == "one part" else [""]
    batch = max(1, min(batch, studies // len(names)))
    found: Counter[str] = Counter()
    for number in itertools.count():
        study = Study(
            generator("claims power", claim, scenario, number),
            seeds * batch,
            effect,
            names[number % len(names)],
            scenario == "skewed",
        )
        made(study)
        parts = CLAIMS[claim].test(study)  # type: ignore[arg-type]
        for k in range(batch):
            own = partial(_of_study, parts, slice(k * seeds, (k + 1) * seeds))
            found[judge(replace(CLAIMS[claim], test=own), study).verdict] += 1  # type: ignore[arg-type]
            if found.total() == studies:
                return found
    raise AssertionError


def _of_study(parts: Sequence[Part], own: slice, _: Any) -> list[Part]:
    """The parts with the seeds of one study."""

    def cut(sample: Sample, part: Part) -> Sample:
        fewer = slice(own.start, own.start + SAL_SEEDS) if "SAL-WS by MM" in part.what else own
        return replace(sample, values=sample.values[fewer])

    return [
        replace(
            part,
            groups=[[cut(sample, part) for sample in group] for group in part.groups],
            never=[cut(sample, part) for sample in part.never],
        )
        for part in parts
    ]


def row(claim: str, studies: int, batch: int) -> list[str]:
    """The claim's shares in per cent."""
    cells = [claim, str(STUDIES[claim][0]), str(studies)]
    for scenario in SCENARIOS:
        found = verdicts(claim, scenario, studies, batch)

        def share(*wanted: str, found: Counter[str] = found) -> str:
            return f"{100 * sum(found[name] for name in wanted) / studies:.1f}"

        if scenario == "true":
            cells += [share("supported"), share("supported", "agrees")]
        elif scenario == "false":
            cells += [share("supported"), share("contradicted", "disagrees")]
        else:
            cells += [share("supported"), share("contradicted")] if scenario != "one part" else [share("supported")]
    return cells


def main() -> None:
    """Simulate, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=400, help="for each claim and scenario")
    parser.add_argument("--batch", type=int, default=BATCH, help="studies that are read from one table")
    parser.add_argument("--claims", nargs="*", default=list(STUDIES), metavar="P1", help="these alone")
    parser.add_argument("--write", type=Path, metavar="FILE", help="a page with the marks of the table")
    options = parser.parse_args()
    for claim in options.claims:
        start = time.perf_counter()
        line = "| " + " | ".join(row(claim, options.studies, options.batch)) + " |"
        print(line, f"{time.perf_counter() - start:.0f} s", flush=True)
        if options.write:
            write(options.write, claim, line)


def write(page: Path, claim: str, line: str) -> None:
    """Put a claim's row into the table of a page."""
    before, rest = page.read_text(encoding="utf-8").split(MARKS[0])
    table, after = rest.split(MARKS[1])
    rows = {old.split()[1]: old for old in table.splitlines() if old.startswith("| P")} | {claim: line}
    lines = "\n".join(rows[name] for name in STUDIES if name in rows)
    page.write_text(f"{before}{MARKS[0]}\n\n{HEAD}\n{lines}\n\n{MARKS[1]}{after}", encoding="utf-8")


HEAD = (
    "| claim | seeds | studies | true: supported | true: supported or agrees | false: supported "
    "| false: contradicted or disagrees | edge: supported | edge: contradicted "
    "| skewed: supported | skewed: contradicted | one part: supported |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)

if __name__ == "__main__":
    main()
