"""How trees grow, keep samples and predict."""
