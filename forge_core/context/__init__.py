"""What fills the model's window: the system prompt."""
