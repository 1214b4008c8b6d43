"""What fills the model's window: the system prompt, the folder's instructions, and a ledger of it all."""
