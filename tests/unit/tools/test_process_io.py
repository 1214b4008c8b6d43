"""Reading the output of a command."""

import os

from forge_core.tools.shell.process_io import PIPE_BYTES, PipeReader, output_pipe


async def test_the_rest_of_a_pipe_is_limited_while_something_still_writes() -> None:
    """A background child that never stops writing must not hold up the end of its command."""
    read_end, write_end = output_pipe()
    os.set_blocking(write_end, False)
    taken: list[int] = []

    def take(data: bytes) -> None:
        taken.append(len(data))
        if sum(taken) < 20 * PIPE_BYTES:
            os.write(write_end, b"x" * len(data))

    os.write(write_end, b"x" * 65_536)
    reader = PipeReader(read_end, take)
    reader.read_rest()
    reader.close()
    os.close(write_end)
    assert 1 < len(taken) <= 8
    assert sum(taken) <= 2 * PIPE_BYTES
