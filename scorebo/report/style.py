"""One look for all figures: what tasks and methods are called, their order, and a color that is a method's own.

Colors are Okabe and Ito's, which stay apart for color-blind readers; markers repeat the distinction without color.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple


class MethodStyle(NamedTuple):
    """How the line of a method is drawn."""

    color: str
    marker: str
    linestyle: Literal["-", "--", "-.", ":"] = "-"


# In the paper's order, which is that of the panels and of the legend.
TASKS = {
    "gramacy1": "Gramacy (1D)",
    "higdon": "Higdon",
    "gramacy2": "Gramacy (2D)",
    "branin_al": "Branin",
    "ishigami": "Ishigami",
    "hartmann6_al": "Hartmann-6",
    "branin": "Branin",
    "rosenbrock2": "Rosenbrock-2",
    "hartmann3": "Hartmann-3",
    "rosenbrock4": "Rosenbrock-4",
    "hartmann4": "Hartmann-4",
    "hartmann6": "Hartmann-6",
    "gp8": "GP sample (8D)",
    "ackley4_25": "Ackley-4 (25D)",
    "hartmann6_25": "Hartmann-6 (25D)",
    "lasso_dna": "Lasso-DNA",
    "svm_ct": "SVM (388D)",
    "ackley4_25_noise0": "Ackley-4 (25D), no noise",
    "ackley4_25_low": "Ackley-4 (25D), low noise",
    "ackley4_25_high": "Ackley-4 (25D), high noise",
    "hartmann6_25_noise0": "Hartmann-6 (25D), no noise",
    "hartmann6_25_low": "Hartmann-6 (25D), low noise",
    "hartmann6_25_high": "Hartmann-6 (25D), high noise",
    "addgp6": "Additive GP (6D)",
    "addgp10": "Additive GP (10D)",
    "cosmology": "Cosmology",
    "pd1_wmt": "PD1 WMT",
    "pd1_lm1b": "PD1 LM1B",
    "pd1_cifar100": "PD1 CIFAR-100",
    "svm_ct757": "SVM (388D), 757 rows",
    **{f"lcbench_{task}": f"LCBench {task}" for task in (126026, 167168, 168868, 189873)},
}
# A method under several models in one figure: the method's color, a line of the model's own.
MODELS: dict[str, tuple[str, Literal["-", "--", "-.", ":"]]] = {
    "true": ("true hyperparameters", "-"),
    "bo_lognormal": ("lognormal prior", "--"),
    "botorch": ("BoTorch prior", ":"),
}
METHODS = {
    "qbmgp": MethodStyle("#009E73", "^"),
    "bqbc": MethodStyle("#CC79A7", "v"),
    "bald": MethodStyle("#0072B2", "s"),
    "sal_ws": MethodStyle("#E69F00", "D"),
    "sal_hr": MethodStyle("#D55E00", "o"),
    "sal_kl": MethodStyle("#56B4E9", "p"),
    "sal_ws_mc": MethodStyle("#E69F00", "d", "--"),
    "sal_hr_mc": MethodStyle("#D55E00", "h", "--"),
    "balm": MethodStyle("#000000", "P"),
    "jes": MethodStyle("#009E73", "<"),
    "mes": MethodStyle("#E69F00", ">"),
    "pes": MethodStyle("#CC79A7", "p"),
    "nei": MethodStyle("#000000", "s"),
    "nei_map": MethodStyle("#56B4E9", "X"),
    "nei_plain": MethodStyle("#000000", "s", "--"),
    "ucb": MethodStyle("#0072B2", "2", "-."),
    "thompson": MethodStyle("#8C6D1F", "1", "-."),
    # Wine red: no other method's color, so that it can stand beside any of them.
    "scorebo_hr": MethodStyle("#882255", "o"),
    "scorebo_ws": MethodStyle("#E69F00", "d"),
    "scorebo_kl": MethodStyle("#0072B2", "h"),
    "scorebo_hr_mc": MethodStyle("#882255", "*", "--"),
    "scorebo_ws_mc": MethodStyle("#E69F00", "D", "--"),
    "sobol": MethodStyle("#777777", "x", "--"),
    "random": MethodStyle("#777777", "+", ":"),
}
# For methods that are not named above: a user's own.
SPARE = [
    MethodStyle(c, m, s) for s in ("-.", ":") for c, m in zip(("#000000", "#56B4E9", "#8C6D1F"), "*X<", strict=True)
]

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


def title(task: str) -> str:
    """A task's name in words."""
    return TASKS.get(task, task.replace("_", " ").strip().capitalize())


def label(method: str) -> str:
    """A method's name in words: abbreviations in capitals, words as words, `_mc` and `_plain` as additions.

    With a model (`nei@botorch`), the model in words too.
    """
    if "@" in method:
        name, _, model = method.partition("@")
        return f"{label(name)}, {MODELS[model][0] if model in MODELS else model}"
    if method in ("sobol", "random", "thompson"):
        return method.capitalize()
    base, addition = method, ""
    for suffix, words in (("_mc", " (MC)"), ("_plain", " (plain)")):
        if method.endswith(suffix):
            base, addition = method.removesuffix(suffix), words
    return base.upper().replace("_", "-").replace("SCOREBO", "SCoreBO") + addition


def task_order(tasks: Iterable[str]) -> list[str]:
    """The tasks in the paper's order, others after them by name."""
    return _ordered(tasks, list(TASKS))


def method_order(methods: Iterable[str]) -> list[str]:
    """The methods in the paper's order, others after them by name; one under several models in the models' order."""
    known = [*METHODS, *(f"{method}@{model}" for method in METHODS for model in MODELS)]
    return _ordered(methods, known)


def method_styles(methods: Iterable[str]) -> dict[str, MethodStyle]:
    """A style for each method; a user's own method gets one by its name, the next free one if that is taken."""
    styles, free = {}, list(SPARE)
    for method in method_order(methods):
        name, _, model = method.partition("@")
        if model in MODELS and name in METHODS:
            styles[method] = METHODS[name]._replace(linestyle=MODELS[model][1])
        elif method in METHODS:
            styles[method] = METHODS[method]
        else:
            free = free or list(SPARE)
            # By name, not by position: the same in every figure, whatever else is in it.
            wanted = int(hashlib.sha256(method.encode()).hexdigest(), 16) % len(SPARE)
            rotated = SPARE[wanted:] + SPARE[:wanted]
            styles[method] = next(style for style in rotated if style in free)
            free.remove(styles[method])
    return styles


def _ordered(names: Iterable[str], known: list[str]) -> list[str]:
    return sorted(set(names), key=lambda name: (known.index(name) if name in known else len(known), name))
