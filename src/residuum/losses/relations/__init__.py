"""Rules about several members of open domains. A file loads when a rule first needs it."""

from typing import TYPE_CHECKING

from residuum.doors import door

if TYPE_CHECKING:
    from residuum.losses.relations import calls as calls
    from residuum.losses.relations import over_rows as over_rows
    from residuum.losses.relations import tables as tables
else:
    __getattr__ = door(__name__)
