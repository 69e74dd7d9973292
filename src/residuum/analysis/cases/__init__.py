"""A formula of a rational logic as a tree of cases."""
