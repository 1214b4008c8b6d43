"""What a model can do, in the form that LangChain's middleware reads."""

from __future__ import annotations

from langchain_core.language_models import ModelProfile

from forge_core.llm.account.catalog import ModelInfo


def to_profile(model: ModelInfo) -> ModelProfile:
    """The profile of a catalogue entry; what is unknown is left out."""
    takes = model.input_modalities
    profile = ModelProfile(
        name=model.name,
        tool_calling=model.takes_tools,
        image_inputs="image" in takes,
        pdf_inputs="file" in takes,
        audio_inputs="audio" in takes,
        video_inputs="video" in takes,
    )
    if model.context_length:
        profile["max_input_tokens"] = model.context_length
    if model.max_output_tokens:
        profile["max_output_tokens"] = model.max_output_tokens
    if model.supported_parameters:
        profile["structured_output"] = "structured_outputs" in model.supported_parameters
        profile["reasoning_output"] = "reasoning" in model.supported_parameters
    return profile
