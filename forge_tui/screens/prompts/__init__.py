"""The prompts for permission and for the questions of the model."""
