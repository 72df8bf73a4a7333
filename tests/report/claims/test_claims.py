"""Every claim on made-up runs for which its verdict is known."""

import itertools
import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

from scorebo.cli import main
from scorebo.config.sweep import sweep_configs
from scorebo.report.claims import CLAIMS, format_scorecard, judge, reference
from scorebo.report.claims.base import MissingRunsError
from scorebo.report.small_fits import distances_per_set, grid, small_fit
from tests.report.report_tables import AL_TASKS, BO_TASKS
from tests.store.store_samples import make_run

SEEDS = range(1, 15)
AL = ("sal_hr", "bald", "bqbc", "qbmgp", "sal_ws")
BO = ("scorebo_hr", "jes", "mes", "nei", "nei_map", "pes")


class Made:
    """Evidence made of given tables."""

    def __init__(self, runs=None, hyperparameters=None):
        self._runs, self._hyperparameters = runs or {}, hyperparameters or {}

    def runs(self, experiment):
        if experiment not in self._runs:
            raise MissingRunsError(f"no runs of experiment={experiment}")
        return self._runs[experiment]

    def hyperparameters(self, experiment, **only):
        if experiment not in self._hyperparameters:
            raise MissingRunsError(f"no runs of experiment={experiment}")
        found = self._hyperparameters[experiment]
        for column, name in only.items():
            found = found[found[column] == name]
        return found


def rows(task, model, method, seed, **columns):
    """The models of one run; plain rows, since the tables here have hundreds of runs."""
    count = len(next(iter(columns.values())))
    who = {"benchmark": task, "model": model, "acquisition": method, "seed": seed, "maximize": True}
    return [
        {**who, "num_observations": 3 + k, **{name: float(values[k]) for name, values in columns.items()}}
        for k in range(count)
    ]


def learning(levels, tasks=AL_TASKS, steps=None, column="negative_mll"):
    """Active-learning runs whose level (and jumps) a method decides."""
    rng = np.random.default_rng(0)
    runs = []
    for task in tasks:
        for seed in SEEDS:
            for method, level in levels.items():
                jumps = (steps or {}).get(method, 0.0) * (-1.0) ** np.arange(8)
                curve = level + jumps + rng.normal(0, 0.02, 8)
                runs += rows(task, "al_lognormal", method, seed, **{column: 10**curve if column == "rmse" else curve})
    return pd.DataFrame(runs)


def optimizing(levels, tasks=BO_TASKS, early=None, column="regret", models=("bo_lognormal",)):
    """Optimization runs that start at one level and end at another; `levels` may differ by task or model."""
    rng = np.random.default_rng(1)
    runs = []
    for task, model, seed, method in itertools.product(tasks, models, SEEDS, levels):
        level = levels[method]
        level = level.get(task, level.get(model, 0.0)) if isinstance(level, dict) else level
        start = (early or {}).get(method, 1.0)
        curve = np.where(np.arange(12) < 5, start, level) + rng.normal(0, 0.02, 12)
        if column == "regret":
            values = {"inference_regret": 10**curve, "simple_regret": 10**curve}
        else:
            values = {"best_observed": np.maximum.accumulate(-curve)}
        runs += rows(task, model, method, seed, **values)
    return pd.DataFrame(runs)


def hyper(task, curves, sets=4, parameters=("lengthscale_1", "outputscale", "noise"), wide=0.05):
    """Hyperparameter sets whose log10 is `curves[method](parameter, n)`."""
    rng = np.random.default_rng(2)
    rows = []
    for method, curve in curves.items():
        for seed in SEEDS:
            for n in range(3, 11):
                for k in range(sets):
                    own = wide[method] if isinstance(wide, dict) else wide
                    values = {p: 10 ** (curve(p, n) + rng.normal(0, own)) for p in parameters}
                    rows.append({"benchmark": task, "model": "m", "acquisition": method, "seed": seed,
                                 "num_observations": n, "sample": k + 1, **values})  # fmt: skip
    return pd.DataFrame(rows)


def verdict(claim, evidence):
    return judge(CLAIMS[claim], evidence).verdict


def test_all_claims_of_the_paper_are_there():
    assert list(CLAIMS) == [f"P{k}" for k in range(1, 19)]
    for claim in CLAIMS:
        if claim not in ("P15", "P16"):
            assert verdict(claim, Made()) == "not run"


ON_SIX_TASKS = {
    "P2": ("al_mll", partial(learning, {method: place for place, method in enumerate(AL)}), AL_TASKS),
    "P4": ("al_rmse", partial(learning, {method: -place for place, method in enumerate(AL)}, column="rmse"), AL_TASKS),
    "P5": ("bo_regret", partial(optimizing, dict.fromkeys(BO, 0.0) | {"scorebo_hr": -1.0}), BO_TASKS),
}


@pytest.mark.parametrize(("claim", "experiment", "made", "tasks"), [(c, *rest) for c, rest in ON_SIX_TASKS.items()])
def test_the_tasks_without_runs_are_named(claim, experiment, made, tasks):
    for missing in ([tasks[2]], [tasks[0], tasks[5]]):
        found = judge(CLAIMS[claim], Made({experiment: made(tasks=[task for task in tasks if task not in missing])}))
        words = f"no runs on {', '.join(missing)}"
        assert (found.verdict, found.note) == ("undecided", words)
        assert all(part.words.endswith(f"({words})") for part in found.parts)
        assert f"undecided ({words})" in format_scorecard([found], markdown=True)


def test_a_task_without_runs_of_a_method_is_named():
    table = learning({method: place for place, method in enumerate(AL)})
    table = table[~(table["benchmark"].eq("ishigami") & table["acquisition"].eq("sal_ws"))]
    assert judge(CLAIMS["P2"], Made({"al_mll": table})).note == "no runs of sal_ws on ishigami"


def test_p1():
    def table(true, lognormal, botorch):
        levels = {"nei": {"true": true, "bo_lognormal": lognormal, "botorch": botorch}}
        return Made({"priors": optimizing(levels, ["gp8"], models=("true", "bo_lognormal", "botorch"))})

    assert verdict("P1", table(-2.0, -1.0, -0.5)) == "supported"
    assert verdict("P1", table(-1.0, -2.0, -0.5)) == "contradicted"


def test_p2_and_p4():
    good = {"sal_hr": -1.0, "bqbc": -0.5, "bald": -0.6, "qbmgp": 0.0, "sal_ws": 0.0}
    table = learning(good)
    # SAL-WS is to wander between the tasks: last on half of them.
    worse = table["acquisition"].eq("sal_ws") & table["benchmark"].isin(AL_TASKS[:3])
    table.loc[worse, "negative_mll"] += 0.5
    assert verdict("P2", Made({"al_mll": table})) == "supported"
    assert verdict("P2", Made({"al_mll": table[table["benchmark"] != "higdon"]})) == "undecided"
    assert verdict("P2", Made({"al_mll": learning(good | {"sal_hr": 0.5})})) == "contradicted"
    error = {"sal_hr": 0.0, "bqbc": -0.5, "bald": -0.6, "qbmgp": 0.0, "sal_ws": -1.0}
    assert verdict("P4", Made({"al_rmse": learning(error, column="rmse")})) == "supported"
    assert verdict("P4", Made({"al_rmse": learning(error | {"sal_hr": -2.0}, column="rmse")})) == "contradicted"


def test_p3():
    steps = {"sal_hr": 0.01, "bald": 0.01, "bqbc": 0.5, "qbmgp": 0.5, "sal_ws": 0.5}
    flat = dict.fromkeys(AL, 0.0)
    assert verdict("P3", Made({"al_mll": learning(flat, ["ishigami"], steps)})) == "supported"
    assert verdict("P3", Made({"al_mll": learning(flat, ["ishigami"], steps | {"bald": 1.0})})) == "contradicted"
    assert verdict("P3", Made({"al_mll": learning(flat, ["higdon"], steps)})) == "not run"


def test_p5():
    levels = {method: 0.2 * k for k, method in enumerate(BO)} | {
        "scorebo_hr": dict.fromkeys(BO_TASKS[:4], -1.0) | dict.fromkeys(BO_TASKS[4:], 0.3)
    }
    slow = {"scorebo_hr": 2.0}
    assert verdict("P5", Made({"bo_regret": optimizing(levels, early=slow)})) == "supported"
    assert verdict("P5", Made({"bo_regret": optimizing(levels, early={"scorebo_hr": -2.0})})) == "contradicted"
    without_pes = {name: level for name, level in levels.items() if name != "pes"}
    assert verdict("P5", Made({"bo_regret": optimizing(without_pes, early=slow)})) == "supported"
    # Best among some of the methods is not best.
    for fewer in (["scorebo_hr"], ["scorebo_hr", "nei"], ["jes", "mes", "nei", "nei_map"]):
        some = {method: levels[method] for method in fewer}
        found = judge(CLAIMS["P5"], Made({"bo_regret": optimizing(some, early=slow)}))
        assert (found.verdict, found.note[:10]) == ("not run", "no runs of")


def test_p6():
    levels = dict.fromkeys(BO, 0.5) | {"scorebo_hr": 0.0, "nei": -1.0}
    runs = {"bo_regret": optimizing(levels, ["rosenbrock4", "branin"])}

    def grown(speed, branin=0.1):
        methods = ("scorebo_hr", "nei", "sal_hr", "sobol")
        return {
            "rosenbrock4_hyperparameters": hyper("rosenbrock4", dict.fromkeys(methods, lambda p, n: speed * n)),
            "bo_regret": hyper("branin", {"scorebo_hr": lambda p, n: branin * n}),
        }

    assert verdict("P6", Made(runs, grown(0.5))) == "supported"
    assert verdict("P6", Made(runs, grown(-0.5))) == "contradicted"
    assert verdict("P6", Made(runs, grown(0.5, branin=1.0))) == "contradicted"
    assert verdict("P6", Made(runs, grown(0.5, branin=-0.1))) == "contradicted"
    best = optimizing(levels | {"scorebo_hr": -2.0}, ["rosenbrock4", "branin"])
    assert verdict("P6", Made({"bo_regret": best}, grown(0.5))) == "contradicted"
    for methods in (["scorebo_hr"], ["jes", "nei"]):
        some = optimizing(dict.fromkeys(methods, 0.0), ["rosenbrock4", "branin"])
        assert verdict("P6", Made({"bo_regret": some}, grown(0.5))) == "not run"
    for methods in (["nei"], ["scorebo_hr", "nei"]):  # "whatever the acquisition" needs all kinds
        some = hyper("rosenbrock4", dict.fromkeys(methods, lambda p, n: n))
        assert verdict("P6", Made(runs, grown(0.5) | {"rosenbrock4_hyperparameters": some})) == "not run"


def test_p7():
    def table(lognormal, botorch):
        levels = {"nei": 0.0, "scorebo_hr": {"bo_lognormal": lognormal, "botorch": botorch}}
        return Made({"gp8_regret": optimizing(levels, ["gp8"], models=("bo_lognormal", "botorch"))})

    assert verdict("P7", table(-1.0, -1.0)) == "supported"
    assert verdict("P7", table(-1.0, 1.0)) == "contradicted"
    # A method with runs under one of the models only: the other's are named as missing.
    half = optimizing({"nei": 0.0}, ["gp8"], models=("bo_lognormal", "botorch"))
    half = pd.concat([half, optimizing({"scorebo_hr": -1.0}, ["gp8"])], ignore_index=True)
    assert judge(CLAIMS["P7"], Made({"gp8_regret": half})).note == "no runs of scorebo_hr@botorch on gp8"


def test_p8():
    truth = reference.drawn_with("gp8")
    assert truth["lengthscale_1"] == pytest.approx(-1.0)
    assert truth["noise"] == pytest.approx(-1.0)

    def evidence(error, wide, inactive=(0.25, -0.05)):
        def curve(error, level):
            return lambda p, n: level if p[-1] in "678" else truth[p] - error

        curves = {"scorebo_hr": curve(0.1, inactive[0]), "nei": curve(error, inactive[1])}
        tables = [f"gp8_hyperparameters_{model}" for model in ("lognormal", "botorch")]
        spread = {"scorebo_hr": 0.05, "nei": wide}
        return Made({}, {name: hyper("gp8", curves, parameters=tuple(truth), wide=spread) for name in tables})

    assert verdict("P8", evidence(1.0, 0.3)) == "supported"
    assert verdict("P8", evidence(0.0, 0.01)) == "contradicted"
    assert verdict("P8", evidence(1.0, 0.3, (1.5, -0.05))) == "contradicted"  # larger than NEI's, but not about that
    assert verdict("P8", evidence(1.0, 0.3, (-0.05, 0.25))) == "contradicted"


def test_p9_and_p14():
    tasks = ["ackley4_25", "hartmann6_25", "lasso_dna", "svm_ct"]
    levels = {"scorebo_hr": -1.0, "jes": 0.0, "mes": 0.0, "nei": 0.0}
    parameters = tuple(f"lengthscale_{k}" for k in range(1, 7))

    def found(p, n):
        return -1.0 if int(p[-1]) <= 4 else 2.0

    def lost(p, n):
        return 0.0

    def slowly(p, n):
        return found(p, n) * min(1.0, n / 8)

    curves = {"scorebo_hr": found, "nei": lost, "bald": slowly}
    tables = {"saas_hyperparameters": hyper("ackley4_25", curves, parameters=parameters)}
    assert verdict("P9", Made({"saas_final": optimizing(levels, tasks, column="best")}, tables)) == "supported"
    swapped = {"saas_hyperparameters": hyper("ackley4_25", curves | {"scorebo_hr": lost, "nei": found},
                                             parameters=parameters)}  # fmt: skip
    assert verdict("P9", Made({"saas_final": optimizing(levels, tasks, column="best")}, swapped)) == "contradicted"
    both = {"saas_hyperparameters": hyper("ackley4_25", curves | {"nei": found}, parameters=parameters)}
    assert verdict("P9", Made({"saas_final": optimizing(levels, tasks, column="best")}, both)) == "contradicted"

    def elsewhere(p, n):
        return 0.5 if int(p[-1]) <= 4 else 2.0

    apart = {"saas_hyperparameters": hyper("ackley4_25", curves | {"scorebo_hr": elsewhere}, parameters=parameters)}
    assert verdict("P9", Made({"saas_final": optimizing(levels, tasks, column="best")}, apart)) == "contradicted"
    some = judge(CLAIMS["P9"], Made({"saas_final": optimizing(levels, tasks[:2], column="best")}, tables))
    assert (some.verdict, some.note, some.seeds) == ("undecided", "no runs on lasso_dna, svm_ct", len(SEEDS))
    others = {"saas_hyperparameters": hyper("ackley4_25", {"nei": lost, "bald": slowly}, parameters=parameters)}
    assert verdict("P9", Made({"saas_final": optimizing(levels, tasks, column="best")}, others)) == "not run"

    noise = [f"{task}_25_{level}" for task in ("ackley4", "hartmann6") for level in ("noise0", "low", "high")]

    def ablation(high):
        rng = np.random.default_rng(3)
        runs = []
        for task in noise:
            for seed in SEEDS:
                common = rng.normal()
                for method in ("scorebo_hr", "nei"):
                    gain = high if task.endswith("high") and method == "scorebo_hr" else 0.0
                    best = [common, common + 1.0 + gain + 0.1 * rng.normal()]
                    runs += rows(task, "saas", method, seed, best_observed=best)
        return Made({"saas_noise": pd.DataFrame(runs)})

    assert verdict("P14", ablation(3.0)) == "supported"
    assert verdict("P14", ablation(-3.0)) == "contradicted"
    table = ablation(3.0).runs("saas_noise")
    some = table[~table["benchmark"].isin(["ackley4_25_low", "hartmann6_25_high"])]
    assert judge(CLAIMS["P14"], Made({"saas_noise": some})).note == "no runs on ackley4_25_low, hartmann6_25_high"


def test_p10():
    def evidence(split, tasks=("addgp6", "addgp10", "cosmology"), gain=0.0):
        rng = np.random.default_rng(4)
        runs = []
        for task in tasks:
            for seed in SEEDS:
                common = rng.normal()
                for method in ("scorebo_hr", "nei"):
                    own = gain if (task, method) == ("cosmology", "scorebo_hr") else 0.0
                    best, error = [common, common + 9 + own + 0.05 * rng.normal()], split[method] + 0.01 * rng.random()
                    runs += rows(task, "additive", method, seed, best_observed=best, decomposition_error=[error] * 2)
        return Made({"addgp": pd.DataFrame(runs)})

    assert verdict("P10", evidence({"scorebo_hr": 0.1, "nei": 2.0})) == "supported"
    assert verdict("P10", evidence({"scorebo_hr": 2.0, "nei": 0.1})) == "contradicted"
    found = {"scorebo_hr": 0.1, "nei": 2.0}
    assert verdict("P10", evidence(found, gain=3.0)) == "contradicted"
    assert verdict("P10", evidence(found, gain=-3.0)) == "supported"  # no gain is no gain
    for tasks, note in ((["addgp6", "addgp10"], "cosmology"), (["addgp6"], "addgp10, cosmology")):
        some = judge(CLAIMS["P10"], evidence(found, tasks))
        assert (some.verdict, some.note) == ("undecided", f"no runs on {note}")
    bare = Made({"addgp": optimizing({"scorebo_hr": 0.0, "nei": 0.0}, ["addgp6"], column="best")})
    assert verdict("P10", bare) == "not run"


def test_p11_and_p18():
    tasks = ["pd1_wmt", "pd1_lm1b", "pd1_cifar100"]
    levels = {
        "scorebo_hr": {"pd1_wmt": -1.0, "pd1_lm1b": -1.0, "pd1_cifar100": 0.1},
        "jes": 0.0,
        "mes": 0.3,
        "nei": 0.5,
    }
    many = optimizing(levels, tasks, column="best")
    assert verdict("P11", Made({"pd1": many})) == "supported"
    last = levels | {"scorebo_hr": {"pd1_wmt": -1.0, "pd1_lm1b": -1.0, "pd1_cifar100": 0.8}}
    assert verdict("P11", Made({"pd1": optimizing(last, tasks, column="best")})) == "contradicted"
    few = optimizing({"scorebo_hr": 0.5, "nei": 0.5}, tasks, column="best")
    assert verdict("P18", Made({"pd1": many, "pd1_few_samples": few})) == "supported"
    some = few[few["benchmark"] != "pd1_wmt"]
    assert verdict("P18", Made({"pd1": many, "pd1_few_samples": some})) == "undecided"
    # Without a gain there is none to lose, even where fewer sets are worse still.
    bad, worse = (optimizing({"scorebo_hr": level, "nei": 0.5}, tasks, column="best") for level in (1.0, 2.0))
    assert verdict("P18", Made({"pd1": bad, "pd1_few_samples": worse})) == "contradicted"
    # The gain is halved, whatever the spread of the runs of either number of sets.
    halved = [_gain(1.0, 2.0, tasks), _gain(0.5, 0.5, tasks)]
    assert verdict("P18", Made(dict(zip(("pd1", "pd1_few_samples"), halved, strict=True)))) == "supported"
    for method in ("scorebo_hr", "nei"):
        alone = optimizing({method: 0.5}, tasks, column="best")
        assert verdict("P18", Made({"pd1": many, "pd1_few_samples": alone})) == "not run"
        assert verdict("P18", Made({"pd1": alone, "pd1_few_samples": few})) == "not run"


def _gain(gain, spread, tasks):
    """SCoreBO ahead of NEI by so much on each seed, seeds apart by so much."""
    rng, runs = np.random.default_rng(6), []
    for task, seed in itertools.product(tasks, SEEDS):
        common = 10.0 + spread * rng.normal()
        for method, own in (("scorebo_hr", gain), ("nei", 0.0)):
            runs += rows(task, "warped", method, seed, best_observed=[0.0, common + own + 0.01 * rng.normal()])
    return pd.DataFrame(runs)


def test_p12_and_p13():
    equal = {"sal_ws": 0.0, "sal_ws_exact": 0.0}
    better = dict.fromkeys(BO_TASKS[:5], -0.06) | {BO_TASKS[5]: 0.06}
    runs = {
        "sal_mc": learning(equal),
        "scorebo_mc": optimizing({"scorebo_hr": better, "scorebo_hr_exact": 0.0}),
        "distances_ws": optimizing({"scorebo_hr_exact": dict.fromkeys(BO_TASKS, -1.0), "scorebo_ws_exact": 0.0}),
        "distances_kl": optimizing({"scorebo_hr": better, "scorebo_kl": 0.0}),
    }
    assert verdict("P12", Made(runs)) == "supported"
    assert verdict("P13", Made(runs)) == "supported"
    assert verdict("P12", Made(runs | {"sal_mc": learning({"sal_ws": 0.0, "sal_ws_exact": 2.0})})) == "contradicted"
    assert verdict("P12", Made(runs | {"sal_mc": learning(equal, ["higdon"])})) == "undecided"
    behind = {"distances_ws": optimizing({"scorebo_hr_exact": 1.0, "scorebo_ws_exact": 0.0})}
    assert verdict("P13", Made(runs | behind)) == "contradicted"


def test_monte_carlo_is_shown_where_it_has_runs_and_does_not_count():
    equal, better = {"sal_ws": 0.0, "sal_ws_exact": 0.0}, {"scorebo_hr": 0.0, "scorebo_hr_exact": 0.0}
    both = {"scorebo_hr_exact": dict.fromkeys(BO_TASKS, -1.0), "scorebo_ws_exact": 0.0}
    against = {"scorebo_hr_mc": 2.0, "scorebo_ws_mc": 0.0}
    kl = {"scorebo_hr": dict.fromkeys(BO_TASKS[:5], -0.06) | {BO_TASKS[5]: 0.06}, "scorebo_kl": 0.0}
    runs = {
        "sal_mc": learning(equal | {"sal_ws_mc": 5.0}),
        "scorebo_mc": optimizing(better | {"scorebo_hr_mc": 5.0}),
        "distances_ws": optimizing(both | against),
        "distances_kl": optimizing(kl),
    }
    for claim, count in (("P12", 2), ("P13", 1)):
        judged = judge(CLAIMS[claim], Made(runs))
        assert judged.verdict == "supported"
        assert sum("by MC" in part.words for part in judged.parts) == count


def test_p17():
    names = ("lengthscale_1", "lengthscale_2", "lengthscale_3", "noise")

    def evidence(good, bad, slope=0.1):
        fixed = reference.fitted("ishigami", "al_lognormal_no_outputscale")

        def curves(jump):
            def curve(size):
                return lambda p, n: fixed[p] + size * (1 + jump * (-1.0) ** n)

            return {method: curve(good if method in ("sal_hr", "bald") else bad) for method in AL}

        def drifting(method):
            size = good if method in ("sal_hr", "bald") else bad
            return lambda p, n: fixed[p] + slope * n + (size * (-1.0) ** n if n < 7 else 0.0)

        wide = {m: 0.02 if m == "sal_hr" else 0.1 for m in AL}
        return Made({}, {
            "ishigami_hyperparameters_no_outputscale": hyper("ishigami", curves(0.0), parameters=names),
            "ishigami_hyperparameters": hyper("ishigami", {m: drifting(m) for m in AL}, parameters=names),
            "hartmann6_hyperparameters": hyper("hartmann6_al", curves(0.0), parameters=names, wide=wide),
        })  # fmt: skip

    assert verdict("P17", evidence(0.1, 1.0)) == "supported"
    assert verdict("P17", evidence(1.0, 0.1)) == "contradicted"
    assert verdict("P17", evidence(0.1, 1.0, slope=-0.1)) == "contradicted"


def test_p15_and_p16_need_no_runs():
    bald = judge(CLAIMS["P15"], Made())
    assert bald.verdict == "supported"
    assert bald.parts[0].estimate.value < 1e-13
    assert bald.parts[1].estimate.value < 1e-3  # by Monte Carlo, against quadrature
    matched = judge(CLAIMS["P16"], Made())
    named = {part.words.rpartition(":")[0]: part for part in matched.parts}
    assert named["Hellinger, MM above exact by"].verdict != "contradicted"  # its sign depends on the sampler's release
    # Gelbrich's bound: by moment matching the Wasserstein distance cannot be too large, whatever the paper says.
    high, low = (f"Wasserstein where the variance is {where}" for where in ("high, MM below", "low, MM above"))
    assert named[f"{high} exact by"].verdict == "supported"
    assert named[f"{low} exact by"].verdict == "contradicted"
    # Against what the authors' code computes its last part holds.
    assert named[f"{low} the authors' estimator by"].verdict == "supported"
    assert matched.verdict == "contradicted"


def test_text_markdown_and_command(tmp_path, capsys):
    findings = [judge(CLAIMS[name], Made({"al_rmse": learning(dict.fromkeys(AL, 0.0), column="rmse")}))
                for name in ("P1", "P4", "P15")]  # fmt: skip
    text = format_scorecard(findings)
    assert "P1   NOT RUN (no runs of experiment=priors)" in text
    assert re.search(r"P4   (AGREES|DISAGREES) \(not significant: ", text)
    assert "▽ disagrees: the estimates are against the paper" in text
    markdown = format_scorecard(findings, markdown=True)
    assert markdown.startswith("| claim | verdict | seeds | statements |\n|---|---|---|---|\n| **P1** ")
    assert all(line.count("|") == 5 for line in markdown.splitlines()[:5] if "\\|" not in line)
    for config in sweep_configs(
        ["experiment=al_mll", "scale=smoke", "benchmark=gramacy1", "acquisition=bald", "seed=1"]
    ):
        make_run(tmp_path, config, 4)
    assert main(["scorecard", "--results", str(tmp_path), "--scale", "smoke", "--json"]) == 0
    found = {finding["id"]: (finding["verdict"], finding["scale"]) for finding in json.loads(capsys.readouterr().out)}
    assert found["P15"] == ("supported", "")  # exact, whatever was run
    assert found["P2"] == ("not run", "smoke")
    assert found["P5"] == ("not run", "")
    assert main(["scorecard", "--results", str(tmp_path / "none")]) == 2
    assert main(["scorecard", "--results", str(tmp_path), "--scale", "huge"]) == 2


def test_moment_matching_never_over_estimates_wasserstein_but_does_against_averaged_quantiles():
    """Gelbrich's bound; and the pattern that the paper's captions describe, with what its authors' code averages."""
    for seed in (1, 7):
        model = small_fit(seed)
        near, exact, variance = (part.numpy() for part in distances_per_set(model, "wasserstein"))
        assert (near <= exact + 1e-5).all()
        mean = model.marginals(grid(), observation_noise=True)[0].detach().numpy()
        spread = np.sqrt(variance)
        center, average = mean.mean(axis=1, keepdims=True), spread.mean(axis=1, keepdims=True)
        averaged = np.hypot(mean - center, spread - average)  # normals: their quantiles' mean is a normal's
        assert (near >= averaged)[spread < average].all()
        total = np.sqrt(variance.mean(axis=1, keepdims=True) + mean.var(axis=1, keepdims=True))
        assert (near <= averaged)[spread > total].all()
