"""The user's allow, ask and deny rules, and the grants given at a prompt."""
