"""What a compiled rule can be asked beside its penalty. A file loads when it is first asked."""

from typing import TYPE_CHECKING

from residuum.doors import door

if TYPE_CHECKING:
    from residuum.losses.questions import coverage as coverage
    from residuum.losses.questions import crisp_truth as crisp_truth
    from residuum.losses.questions import decoding as decoding
    from residuum.losses.questions import diagnosis as diagnosis
    from residuum.losses.questions import distribution as distribution
    from residuum.losses.questions import each as each
    from residuum.losses.questions import explain as explain
    from residuum.losses.questions import likelihood as likelihood
    from residuum.losses.questions import metrics as metrics
    from residuum.losses.questions import truth as truth
    from residuum.losses.questions import violations as violations
else:
    __getattr__ = door(__name__)
