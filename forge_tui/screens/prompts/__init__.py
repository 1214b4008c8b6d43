"""The permission prompt and the questionnaire."""
