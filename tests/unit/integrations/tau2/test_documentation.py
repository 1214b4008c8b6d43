"""The example of the documentation that needs tau2."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.doc_examples import Example, examples, run_example

PAGE = Path(__file__).parents[4] / "docs" / "tau2.md"


@pytest.mark.parametrize("example", list(examples(PAGE)), ids=str)
def test_an_example_prints_what_the_page_says(example: Example, tmp_path: Path) -> None:
    assert run_example(example, tmp_path) == example.output
