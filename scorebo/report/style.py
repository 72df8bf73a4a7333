"""One look for all figures: what tasks and methods are called, their order, and a color that is a method's own.

Labels and colors are those of the `display` nodes of configs, as they are stored with the runs. The project's own are
Okabe and Ito's, which stay apart for color-blind readers; markers repeat the distinction without color.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import pandas as pd
import yaml

from scorebo.config import available, config_file
from scorebo.config.schema import check_display


class MethodStyle(NamedTuple):
    """How the line of a method is drawn."""

    color: str
    marker: str
    linestyle: Any = "-"  # one of `LINESTYLES`, for matplotlib a literal
    linewidth: float = 1.1


# In the paper's order, which is that of the panels and of the legend.
TASKS = (
    *("gramacy1", "higdon", "gramacy2", "branin_al", "ishigami", "hartmann6_al"),
    *("branin", "rosenbrock2", "hartmann3", "rosenbrock4", "hartmann4", "hartmann6", "gp8"),
    *("ackley4_25", "hartmann6_25", "lasso_dna", "svm_ct"),
    *("ackley4_25_noise0", "ackley4_25_low", "ackley4_25_high"),
    *("hartmann6_25_noise0", "hartmann6_25_low", "hartmann6_25_high"),
    *("addgp6", "addgp10", "cosmology", "pd1_wmt", "pd1_lm1b", "pd1_cifar100", "svm_ct757"),
    *("lcbench_126026", "lcbench_167168", "lcbench_168868", "lcbench_189873"),
)
METHODS = (
    *("qbmgp", "bqbc", "bald", "sal_ws", "sal_hr", "sal_kl"),
    *("sal_ws_exact", "sal_hr_exact", "sal_ws_mc", "sal_hr_mc", "sal_kl_mc", "balm"),
    *("jes", "mes", "pes", "nei", "nei_map", "nei_plain", "ucb", "thompson"),
    *("scorebo_hr", "scorebo_ws", "scorebo_kl"),
    *("scorebo_hr_exact", "scorebo_ws_exact", "scorebo_kl_exact", "scorebo_hr_mc", "scorebo_ws_mc"),
    *("sobol", "random"),
)
MODELS = ("true", "bo_lognormal", "botorch")
# For methods whose display has no color: a user's own.
SPARE = [
    MethodStyle(c, m, s) for s in ("-.", ":") for c, m in zip(("#000000", "#56B4E9", "#8C6D1F"), "*X<", strict=True)
]
# Of the method that stands out, whose display has no color or marker: no method of the project is solid black.
CHALLENGER = MethodStyle("#000000", "*", "-", 2.2)
# The display nodes that are stored with the runs that are shown, by node and name.
_stored: dict[str, Mapping[str, Mapping[str, str]]] = {}
_challengers: set[str] = set()
# Labels that a caller gave to names of tasks, methods and models, for the figure that is being drawn.
_given: dict[str, str] = {}

FORMATS = {
    # Without dates the same table gives the same bytes.
    ".pdf": {"CreationDate": None},
    ".png": {"Software": None},
    ".svg": {"Date": None},
}
DPI = 200
RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that figures are alike on all machines
    "font.size": 7.5,
    "axes.titlesize": 8.5,
    "axes.titlepad": 4,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E5E5E5",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.1,
    "lines.markersize": 3,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "ytick.minor.size": 1.5,
    "pdf.fonttype": 42,  # TrueType: text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "scorebo",
    "text.usetex": False,
}


def use_displays(table: pd.DataFrame, challenger: str | None = None) -> None:
    """Show names from now on as the runs of a table, of `collect`, have stored it; the challenger stands out."""
    stored = table.attrs.get("display", {})
    for node, displays in stored.items():
        for display in displays.values():
            check_display(node, display)
    _stored.clear()
    _stored.update(stored)
    _challengers.clear()
    _challengers.update({challenger} if challenger else ())


@contextlib.contextmanager
def labeled(labels: Mapping[str, str]) -> Iterator[None]:
    """Show tasks, methods and models under these labels, by name, while the context lasts."""
    before = dict(_given)
    _given.update(labels)
    try:
        yield
    finally:
        _given.clear()
        _given.update(before)


def display(node: str, name: str) -> Mapping[str, str]:
    """How a name of a benchmark, a model or an acquisition is shown: as stored, or else as the project's own config."""
    return _stored.get(node, {}).get(name) or _own_display(node, name)


@lru_cache
def _own_display(node: str, name: str) -> Mapping[str, str]:
    if name not in available(node):
        return {}
    content = yaml.safe_load(config_file(node, name).read_text(encoding="utf-8"))
    return content.get(node, content).get("display", {})


def title(task: str) -> str:
    """A task's name in words."""
    return _given.get(task) or display("benchmark", task).get("label") or task.replace("_", " ").strip().capitalize()


def label(method: str) -> str:
    """A method's name in words; with a model (`nei@botorch`), the model in words too."""
    if method in _given:
        return _given[method]
    name, at, model = method.partition("@")
    words = _given.get(name) or display("acquisition", name).get("label") or name.upper().replace("_", "-")
    return f"{words}, {_given.get(model) or display('model', model).get('label', model)}" if at else words


def task_order(tasks: Iterable[str]) -> list[str]:
    """The tasks in the paper's order, others after them by name."""
    return _ordered(tasks, TASKS)


def method_order(methods: Iterable[str]) -> list[str]:
    """The methods in the paper's order, others after them by name; one under several models in the models' order."""
    return _ordered(methods, [*METHODS, *(f"{method}@{model}" for method in METHODS for model in MODELS)])


def method_styles(methods: Iterable[str]) -> dict[str, MethodStyle]:
    """A style for each method; one whose display has no color gets one by its name, or the next free one."""
    styles, free = {}, list(SPARE)
    for method in method_order(methods):
        name, _, model = method.partition("@")
        shown = display("acquisition", name)
        line = display("model", model).get("linestyle")
        if "color" in shown and (not model or line):
            style = MethodStyle(shown["color"], shown.get("marker", "o"), line or shown.get("linestyle", "-"))
        elif name in _challengers:
            style = CHALLENGER._replace(linestyle=line or "-")
        else:
            free = free or list(SPARE)
            # By name, not by position: the same in every figure, whatever else is in it.
            wanted = int(hashlib.sha256(method.encode()).hexdigest(), 16) % len(SPARE)
            style = next(spare for spare in SPARE[wanted:] + SPARE[:wanted] if spare in free)
            free.remove(style)
        styles[method] = style._replace(linewidth=CHALLENGER.linewidth) if name in _challengers else style
    return styles


def _ordered(names: Iterable[str], known: Sequence[str]) -> list[str]:
    return sorted(set(names), key=lambda name: (known.index(name) if name in known else len(known), name))
