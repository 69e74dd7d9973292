"""The explorer: a page in the browser on which formulas and rules can be tried out.

`serving` starts it. Work is done in worker processes, which can be stopped at any time.
"""
