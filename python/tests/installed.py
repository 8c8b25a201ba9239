"""Runs the Python of pages, and notebooks: `python installed.py FILE…`, in a folder with a file `model.onnx`.

A page needs the package alone. A notebook also needs `nbclient` and `ipykernel`, and shows modules and differences.
"""

from __future__ import annotations

import pathlib
import sys


def run_page(page: pathlib.Path) -> None:
    blocks = [block.split("```")[0] for block in page.read_text(encoding="utf-8").split("```python\n")[1:]]
    assert blocks, f"{page} has no Python"
    out = pathlib.Path("smaller.onnx")
    out.unlink(missing_ok=True)
    for block in blocks:
        exec(compile(block, str(page), "exec"), {})
    assert out.stat().st_size > 0


def run_notebook(page: pathlib.Path) -> None:
    import nbclient
    import nbformat

    notebook = nbformat.read(page, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), f"{page} has outputs"
    # A cell that fails raises.
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": "."}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in cells:
        shown = [output.data.get("text/html", "") for output in cell.outputs if output.output_type == "execute_result"]
        # Each ends with something that is shown; its plain text would say that it has no table.
        assert len(shown) == 1, cell.source
        assert "<table>" in shown[0], cell.source
    print(f"{page.name}: {len(cells)} cells, each with a table")


for name in sys.argv[1:]:
    page = pathlib.Path(name)
    (run_notebook if page.suffix == ".ipynb" else run_page)(page)
