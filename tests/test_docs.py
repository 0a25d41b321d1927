"""What the documentation says, happens."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import reference

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md"]
BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>not run|needs links(?: and a browser)?)(?::[^\n]*)? -->\n)?"
    r"```(?P<language>sh|python)\n(?P<text>.*?)^```$",
    re.S | re.M,
)


def _blocks(path: Path) -> Iterator[Any]:
    text = path.read_text()
    for match in BLOCK.finditer(text):
        if match["mark"] != "not run":
            line = text.count("\n", 0, match.start()) + 1
            fixtures = [name for name in ("links", "browser") if name in (match["mark"] or "")]
            block = (path.stem, match["language"], match["text"], fixtures)
            yield pytest.param(*block, id=f"{path.name}:{line}")


BLOCKS = [block for path in DOCUMENTS for block in _blocks(path)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each document: later blocks may use the files of earlier ones."""
    return tmp_path_factory.mktemp("documentation")


@pytest.mark.parametrize(("document", "language", "text", "fixtures"), BLOCKS)
def test_every_command_in_the_documentation_works(
    request: pytest.FixtureRequest,
    folders: Path,
    document: str,
    language: str,
    text: str,
    fixtures: list[str],
) -> None:
    for fixture in fixtures:
        request.getfixturevalue(fixture)
    program = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}[language]
    folder = folders / document
    folder.mkdir(exist_ok=True)
    commands = Path(sys.executable).parent
    assert shutil.which("loadpath", path=commands)
    result = subprocess.run(
        [*program, text],
        cwd=folder,
        env=os.environ | {"PATH": f"{commands}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_the_readme_has_a_tour() -> None:
    assert sum(parameter.id.startswith("README.md") for parameter in BLOCKS) >= 6


@pytest.mark.parametrize("name", reference.REFERENCES)
def test_the_reference_is_what_the_program_says(name: str) -> None:
    assert (ROOT / "docs" / "reference" / name).read_text() == reference.REFERENCES[name](), (
        "run `make docs`"
    )


def test_links_between_documents_lead_somewhere() -> None:
    for path in [*DOCUMENTS, ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"
