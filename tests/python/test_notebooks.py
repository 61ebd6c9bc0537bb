"""The notebooks of lessons/notebooks run from their first cell to their last."""

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "lessons/notebooks").glob("*.ipynb"))


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file, tmp_path):
    notebook = nbformat.read(file, as_version=4)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code"), "outputs are not kept in the tree"
    done = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    assert outputs and all(output.output_type != "error" for output in outputs)


def test_the_notebook_shows_the_page(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[
        nbformat.v4.new_code_cell('import locus_attention as locus\nlocus.trace("tiny-v3", text="a new store")')
    ])
    done = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    (output,) = done.cells[0].outputs
    assert output.data["text/html"].startswith("<iframe srcdoc=")
