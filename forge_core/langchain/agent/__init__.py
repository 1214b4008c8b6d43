"""The agent: a model and its tools, called in turn until the model has answered."""

from forge_core.langchain.agent.agent import NOTHING_TO_RETRY, ForgeAgent
from forge_core.langchain.agent.model_call import warm_up
from forge_core.langchain.agent.run_record import CallWatch

__all__ = ["NOTHING_TO_RETRY", "CallWatch", "ForgeAgent", "warm_up"]
