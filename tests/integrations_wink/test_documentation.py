"""The examples of the documentation that need weakincentives or langgraph."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("weakincentives", reason="weakincentives is not installed (extra 'wink')")
pytest.importorskip("langgraph.graph", reason="langgraph is not installed (extra 'wink')")

from tests.support.doc_examples import SAMPLE, Example, examples, run_example

PAGE = Path(__file__).parents[2] / "docs" / "wink.md"


@pytest.mark.parametrize("example", list(examples(PAGE)), ids=str)
def test_an_example_prints_what_the_page_says(example: Example, tmp_path: Path) -> None:
    (tmp_path / "greeting.py").write_text(SAMPLE)
    assert run_example(example, tmp_path) == example.output
