"""The keys in effect: the table in `keymap`, changed by a preset and by the user's own file."""
