"""The notebooks run from top to bottom, and are stored without outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert [path.name for path in NOTEBOOKS] == ["tour.ipynb"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, tmp_path, monkeypatch):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells)
    monkeypatch.setenv("PYTHONPATH", str(path.parents[1]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    pictures = [output for output in outputs if {"image/png", "image/svg+xml"} & set(output.get("data", {}))]
    assert len(pictures) == 2  # the fit, and the figure
    said = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    assert said.count("negative MLL") == 6  # a line a run
    assert "P15  SUPPORTED" in said
