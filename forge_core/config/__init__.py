"""Settings: what they are (`models`, `fields`), where they come from (`load`), how one is kept (`save`)."""
