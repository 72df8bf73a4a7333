import numpy as np
import pandas as pd
import pytest

from scorebo.errors import InputError
from scorebo.run.loop import execute
from scorebo.store import active_inputs, collect_hyperparameters, separation
from tests.runs import tiny_config

RUN = {"benchmark": "t", "model": "saas", "acquisition": "nei", "seed": 1}


@pytest.fixture
def table():
    """Two sets at one iteration, three inputs; a second run has only two inputs."""
    lengthscale = [[0.1, 10.0, 100.0], [0.4, 1.0, 1000.0], [0.5, 50.0, np.nan]]
    rows = pd.DataFrame(lengthscale, columns=[f"lengthscale_{k}" for k in (1, 2, 3)])
    return rows.assign(**RUN, iteration=4, noise=0.1).assign(seed=[1, 1, 2])


def test_median_and_share_of_every_input(table):
    found = active_inputs(table)
    assert found["input"].tolist() == [1, 2, 3, 1, 2]
    assert found["seed"].tolist() == [1, 1, 1, 2, 2]
    expected = [np.log10([0.1, 0.4]).mean(), 0.5, 2.5, np.log10(0.5), np.log10(50.0)]
    np.testing.assert_allclose(found["log10_lengthscale"], expected, rtol=1e-12)
    assert found["active"].tolist() == [1.0, 0.5, 0.0, 1.0, 0.0]
    assert active_inputs(table, threshold=0.2)["active"].tolist() == [0.5, 0.0, 0.0, 0.0, 0.0]


def test_separation_is_the_ratio_of_medians(table):
    found = separation(active_inputs(table), num_active=1)
    assert found["seed"].tolist() == [1, 2]
    np.testing.assert_allclose(found["log10_ratio"], [1.5 - np.log10([0.1, 0.4]).mean(), 2.0], rtol=1e-12)


def test_bad_arguments_are_refused(table):
    with pytest.raises(InputError, match="no lengthscales"):
        active_inputs(table[["noise"]])
    for num_active in (0, 3):
        with pytest.raises(InputError, match="num_active must leave inputs on either side"):
            separation(active_inputs(table), num_active)


@pytest.mark.parametrize("sampler", ["nuts", "sequential"])
def test_a_run_with_sparse_lengthscales(tmp_path, sampler):
    """Hyperparameters of all sets and inputs are recorded, collected and read, whichever sampler drew them."""
    execute(tiny_config(tmp_path, "ackley4_25", "sal_hr", "benchmark.total=5", f"mcmc={sampler}"))
    table = collect_hyperparameters(tmp_path)
    assert table["model"].unique().tolist() == ["saas"]
    lengthscales = [f"lengthscale_{k}" for k in range(1, 26)]
    assert list(table.columns[7:32]) == lengthscales
    assert len(table) == 9  # iterations 4, 5 and the closing one, 3 sets each
    assert (table[[*lengthscales, "outputscale", "noise"]] > 0).all(axis=None)
    found = active_inputs(table)
    assert len(found) == 3 * 25
    assert np.isfinite(separation(found, num_active=4)["log10_ratio"]).all()
