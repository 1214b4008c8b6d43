"""Shell commands as processes and jobs: started in the sandbox, watched, and ended with all they began."""
