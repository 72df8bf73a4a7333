import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from scorebo.errors import InputError
from scorebo.report.style import (
    METHODS,
    SPARE,
    MethodStyle,
    label,
    method_order,
    method_styles,
    task_order,
    title,
    use_displays,
)
from tests.report.report_tables import AL_METHODS, AL_TASKS, BO_METHODS, BO_TASKS


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("sal_hr", "SAL-HR"),
        ("sal_ws", "SAL-WS"),
        ("bald", "BALD"),
        ("sal_hr_mc", "SAL-HR (MC)"),
        ("scorebo_hr", "SCoreBO-HR"),
        ("scorebo_ws_mc", "SCoreBO-WS (MC)"),
        ("nei", "NEI"),
        ("nei_map", "NEI-MAP"),
        ("nei_plain", "NEI (plain)"),
        ("jes", "JES"),
        ("thompson", "Thompson"),
        ("sobol", "Sobol"),
        ("random", "Random"),
        ("my_own", "MY-OWN"),
    ],
)
def test_methods_in_words(method, expected):
    assert label(method) == expected


def test_tasks_in_words():
    expected = ["Gramacy (1D)", "Higdon", "Gramacy (2D)", "Branin", "Ishigami", "Hartmann-6"]
    assert [title(task) for task in AL_TASKS] == expected
    expected = ["Branin", "Rosenbrock-2", "Hartmann-3", "Rosenbrock-4", "Hartmann-4", "Hartmann-6"]
    assert [title(task) for task in BO_TASKS] == expected
    assert title("gp8") == "GP sample (8D)"
    assert [title("lcbench_167168"), title("svm_ct757")] == ["LCBench 167168", "SVM (388D), 757 rows"]
    assert title("my_task") == "My task"


def test_the_papers_order_then_by_name():
    assert task_order(["zebra", "hartmann6_al", "apple", "gramacy1"]) == ["gramacy1", "hartmann6_al", "apple", "zebra"]
    assert method_order(["zebra", "sobol", "sal_hr", "qbmgp", "apple"]) == [
        "qbmgp",
        "sal_hr",
        "sobol",
        "apple",
        "zebra",
    ]


def test_a_method_looks_the_same_in_every_figure():
    everything = method_styles([*METHODS, "mine"])
    for method in (*METHODS, "mine"):
        assert method_styles([method])[method] == everything[method]


@pytest.fixture
def stored():
    """A table whose runs have stored how they are shown; afterwards nothing is stored."""
    table = pd.DataFrame()
    table.attrs["display"] = {
        "benchmark": {"my_task": {"label": "My own task"}},
        "acquisition": {"mine": {"label": "Mine", "color": "#123456", "marker": "P"}, "bald": {"label": "BALD 2"}},
        "model": {"my_model": {"label": "my prior", "linestyle": "-."}},
    }
    yield table
    use_displays(pd.DataFrame())


def test_names_are_shown_as_the_runs_have_stored_it(stored):
    use_displays(stored)
    assert [title("my_task"), title("branin"), label("mine"), label("bald")] == [
        *("My own task", "Branin", "Mine", "BALD 2")
    ]
    assert method_styles(["mine"])["mine"] == MethodStyle("#123456", "P", "-")
    assert label("mine@my_model") == "Mine, my prior"
    assert method_styles(["mine@my_model"])["mine@my_model"].linestyle == "-."
    assert label("sal_hr") == "SAL-HR"  # of which there are no runs: as its config has it
    use_displays(pd.DataFrame())
    assert label("mine") == "MINE"


def test_a_display_that_was_edited_into_nonsense_is_refused(stored):
    stored.attrs["display"]["acquisition"]["mine"]["color"] = "reddish"
    with pytest.raises(InputError, match=r"acquisition\.display\.color must be a color"):
        use_displays(stored)


def test_no_two_methods_look_alike():
    own = [f"own_{i}" for i in range(len(SPARE))]
    styles = method_styles([*METHODS, *own])
    assert len(set(styles.values())) == len(METHODS) + len(own)
    assert len(method_styles([*own, "one_more"])) == len(own) + 1


# Simulated vision (Machado, Oliveira & Fernandes 2009, severity 1) on linear RGB.
VISION = {
    "full": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(color, vision):
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(vision) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ seen / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


# The methods that share a figure.
TOGETHER = [AL_METHODS, BO_METHODS, ["scorebo_hr", "nei", "sal_hr", "sobol"], ["scorebo_hr", "nei", "bald"]]


@pytest.mark.parametrize("methods", TOGETHER, ids="-".join)
@pytest.mark.parametrize("vision", VISION)
def test_colors_of_the_papers_methods_stay_apart_for_every_reader(vision, methods):
    seen = {method: lab(style.color, VISION[vision]) for method, style in method_styles(methods).items()}
    for one, other in itertools.combinations(methods, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 12, (one, other)
