"""Ways to evaluate a rule, and the choice between them. A route loads when a rule may take it."""

from typing import TYPE_CHECKING

from residuum.doors import door

if TYPE_CHECKING:
    from residuum.losses.routes import blocks as blocks
    from residuum.losses.routes import clauses as clauses
    from residuum.losses.routes import crosses as crosses
    from residuum.losses.routes import cuda_graphs as cuda_graphs
    from residuum.losses.routes import exact as exact
    from residuum.losses.routes import listing as listing
    from residuum.losses.routes import minima as minima
    from residuum.losses.routes import rule_circuits as rule_circuits
    from residuum.losses.routes import steps as steps
    from residuum.losses.routes import table_shapes as table_shapes
    from residuum.losses.routes import tables as tables
    from residuum.losses.routes import torch_compile as torch_compile
else:
    __getattr__ = door(__name__)
