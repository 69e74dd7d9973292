"""What was recorded of a rule as CUDA graphs."""

from residuum.losses.routes.cuda_graphs import CudaGraphsRoute


def recorded(rule):
    """Return what was recorded of a rule, or of the rules in a bundle; None where that failed."""
    choosers = [rule.routes] + ([rule.routes_of_several] if rule.routes_of_several else [])
    routes = [one.loaded for chooser in choosers for one in chooser.routes]
    return [
        kept
        for route in routes
        if isinstance(route, CudaGraphsRoute)
        for kept in route.recordings._kept.values()
    ]
