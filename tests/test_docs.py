import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_paths_that_a_page_names_exist(page):
    named = re.findall(r"`((?:scorebo|benchmarks|configs|scripts|tests|results)/[\w./]*)`", page.read_text("utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert named or page.name != "architecture.md"
