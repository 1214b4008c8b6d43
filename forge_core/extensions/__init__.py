"""What users add to Forge by files: commands, skills, agents, styles and hooks."""
