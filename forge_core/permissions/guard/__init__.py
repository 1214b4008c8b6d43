"""Commands that are denied in every permission mode."""
