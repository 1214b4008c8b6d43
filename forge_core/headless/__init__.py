"""`forge run`: a session without a screen."""
