"""Ways to evaluate a rule, and the choice between them."""
