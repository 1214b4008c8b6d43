"""The signal that stops a run."""

from __future__ import annotations

from forge_core.langchain.agent.run_control import StopSignal


def test_the_first_reason_to_stop_wins() -> None:
    stop, calls = StopSignal(), list[str]()
    with stop.calling(lambda: calls.append("stopped")):
        stop.set("timeout")
        stop.set("cancelled")
    assert stop.reason == "timeout"
    assert calls == ["stopped"]


def test_a_listener_that_comes_after_the_signal_is_called_at_once() -> None:
    stop, calls = StopSignal(), list[str]()
    stop.set("cancelled")
    with stop.calling(lambda: calls.append("stopped")):
        assert calls == ["stopped"]
