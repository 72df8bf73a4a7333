import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scorebo.errors import InputError
from scorebo.report import FIGURES, draw
from scorebo.report.claims import reference
from scorebo.report.claims.per_run import log_moments
from scorebo.report.figures.hyperparameter_curves import hyperparameters
from scorebo.report.figures.render import compose
from scorebo.store.moments import MEAN, SAMPLES, STD


def table(task="gp8", dims=8, methods=("nei", "scorebo_hr"), seeds=(1, 2, 3), length=4, **fixed):
    rng = np.random.default_rng(0)
    rows = []
    for method in methods:
        for seed in seeds:
            for n in range(9, 9 + length):
                for k in range(3):
                    values = {f"lengthscale_{d}": 10 ** rng.normal(d / 10, 0.1) for d in range(1, dims + 1)}
                    values |= {"outputscale": 10 ** rng.normal(), "noise": 10 ** rng.normal()} | fixed
                    rows.append({"benchmark": task, "model": "m", "acquisition": method, "seed": seed, "sample": k + 1,
                                 "num_observations": n, "run_id": f"{method}{seed}", **values})  # fmt: skip
    return pd.DataFrame(rows)


def moments_of(samples):
    """The same runs as summaries have them."""
    names = [name for name in samples if name.startswith(("lengthscale", "outputscale", "noise"))]
    who = ["benchmark", "model", "acquisition", "seed", "num_observations", "run_id"]
    groups = np.log10(samples[names]).join(samples[who]).groupby(who, sort=False)[names]
    parts = [groups.mean().add_prefix(MEAN), groups.std().add_prefix(STD), groups.size().rename(SAMPLES)]
    return pd.concat(parts, axis=1).reset_index()


def test_moments_make_the_panels_of_the_samples():
    samples = pd.concat([table(dims=3, noise=0.1), table(dims=3, methods=("bald",), seeds=(1,), noise=0.1)])
    samples = samples.drop(samples.index[5]).reset_index(drop=True)  # a model with two samples of three
    expected, found = hyperparameters(samples), hyperparameters(moments_of(samples))
    assert [panel.title for panel in found.panels] == [panel.title for panel in expected.panels]
    assert len(found.panels) == 4, "the noise is fixed"
    assert found.notes == expected.notes
    for one, other in zip(found.panels, expected.panels, strict=True):
        for left, right in zip(one.lines, other.lines, strict=True):
            assert left.method == right.method
            for name in ("x", "mean", "band"):
                np.testing.assert_allclose(getattr(left, name), getattr(right, name), rtol=1e-10)
    keys = [samples["seed"] % 2]
    spread, pooled = (
        log_moments(samples, keys)[1],
        log_moments(moments_of(samples), [moments_of(samples)["seed"] % 2])[1],
    )
    np.testing.assert_allclose(spread, pooled, rtol=1e-10)


def test_panels_are_mean_and_standard_deviation_over_sets_and_repetitions():
    data = hyperparameters(table())
    assert [panel.title for panel in data.panels][-3:] == ["Lengthscale 8", "Outputscale", "Noise variance"]
    line = data.panels[0].lines[0]
    rows = table().query("acquisition == 'nei' and num_observations == 9")
    logs = np.log10(rows["lengthscale_1"])
    assert line.method == "nei"
    assert line.mean[0] == pytest.approx(logs.mean())
    assert line.band[0] == pytest.approx(logs.std())
    assert line.runs.tolist() == [3] * 4
    few = hyperparameters(table(seeds=(1, 2)))
    assert np.isnan(few.panels[0].lines[0].band).all()
    assert "No band where fewer than three runs are averaged." in few.notes


def test_the_truth_is_dashed_and_in_sight():
    data = FIGURES["gp8-hyperparameters-lognormal"].data(table())
    assert data.reference == "Truth"
    truth = reference.drawn_with("gp8")
    assert [panel.reference for panel in data.panels] == [truth[f"lengthscale_{k}"] for k in range(1, 9)] + [
        truth["outputscale"],
        truth["noise"],
    ]
    axes = [a for a in compose(data).axes if a.get_title()]
    for panel, each in zip(data.panels, axes, strict=True):
        assert each.get_ylim()[0] < panel.reference < each.get_ylim()[1]


def test_the_moving_average_of_three():
    plain, smooth = hyperparameters(table()), hyperparameters(table(), window=3)
    raw = plain.panels[0].lines[0].mean
    np.testing.assert_allclose(smooth.panels[0].lines[0].mean[1], raw[:3].mean())


def test_a_fixed_hyperparameter_has_no_panel_and_a_missing_reference_is_said():
    data = hyperparameters(
        table("higdon", 1, outputscale=2.0), reference=lambda: reference.fitted("higdon", "al_lognormal")
    )
    assert [panel.title for panel in data.panels] == ["Lengthscale 1", "Noise variance"]
    assert "No dashed lines: no reference hyperparameters of higdon under al_lognormal." in data.notes
    assert set(reference.fitted("ishigami", "al_lognormal")) == {
        *("lengthscale_1", "lengthscale_2", "lengthscale_3", "outputscale", "noise")
    }


def test_the_reference_of_several_designs_has_a_band():
    data = FIGURES["ishigami-hyperparameters"].data(table("ishigami", 3))
    mean, spread = (find("ishigami", "al_lognormal") for find in (reference.fitted, reference.spread))
    for panel, name in zip(data.panels, mean, strict=True):
        assert (panel.reference, panel.reference_band) == (mean[name], spread[name])
    assert [panel.reference_band > 0.0 for panel in data.panels] == [True] * 4 + [False]  # the noise is known
    assert any("standard deviation over the random designs" in note for note in data.notes)
    for axes, panel in zip((a for a in compose(data).axes if a.get_title()), data.panels, strict=True):
        bands = [patch for patch in axes.patches if patch.get_width() == 1.0]
        assert len(bands) == (panel.reference_band > 0.0)
        if bands:
            low, high = bands[0].get_y(), bands[0].get_y() + bands[0].get_height()
            assert (low, high) == pytest.approx(
                (panel.reference - panel.reference_band, panel.reference + panel.reference_band)
            )
            assert axes.get_ylim()[0] < low < high < axes.get_ylim()[1]


def test_stored_references_are_of_at_least_ten_designs():
    stored = json.loads(Path(reference.__file__).with_name(reference.REFERENCE_FILE).read_text())
    assert {entry["designs"] >= 10 for entry in stored.values()} == {True}
    for entry in stored.values():
        assert entry["mean"].keys() == entry["standard_deviation"].keys()
    # One design of 300 points does not determine it, which is why there are several.
    assert reference.spread("hartmann6_al", "al_lognormal")["lengthscale_3"] > 0.2


def test_unequal_runs_are_numbered(tmp_path):
    rows = table()
    rows = rows[~((rows["acquisition"] == "nei") & (rows["seed"] == 3) & (rows["num_observations"] > 10))]
    data = FIGURES["rosenbrock4-hyperparameters"].data(rows)
    assert "Small numbers: how many runs a point is the mean of." in data.notes
    texts = [text.get_text() for text in compose(data).axes[0].texts]
    assert texts == ["3", "2", "3"]
    assert draw("rosenbrock4-hyperparameters", rows, tmp_path / "a.svg").exists()


def test_refusals():
    with pytest.raises(InputError, match="empty"):
        hyperparameters(None)
    with pytest.raises(InputError, match="one benchmark, got gp8, higdon"):
        hyperparameters(pd.concat([table(), table("higdon")]))
