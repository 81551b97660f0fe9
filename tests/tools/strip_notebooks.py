"""Strip everything from the notebooks that running them leaves behind.

They are kept in git without outputs, execution counts and the metadata of a particular machine.
Run it by hand: `python tests/tools/strip_notebooks.py`.
"""

from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
# marks them as Python notebooks for the programs that open them
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def stripped(text: str) -> str:
    """Return the text of a notebook without outputs, execution counts and machine metadata."""
    notebook = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
    notebook.metadata = nbformat.from_dict(_METADATA)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    return nbformat.writes(notebook) + "\n"


if __name__ == "__main__":
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        path.write_text(stripped(path.read_text(encoding="utf-8")), encoding="utf-8")
