"""A circuit that others compiled, as a loss: the semantic loss of a constraint in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from residuum.circuits import Circuit, count
from residuum.circuits.ground_rules import GroundRule, Output
from residuum.circuits.propositions import Propositions
from residuum.errors import GroundingError
from residuum.grounding import Plan
from residuum.grounding.plans import Known, Slot
from residuum.logic.formulas import TRUE
from residuum.losses.degrees.logits import FORMS, Form
from residuum.losses.degrees.tensors import in_full
from residuum.losses.exact_answers import ExactAnswers
from residuum.losses.inputs.arguments import Inputs, Tensors, named_tensors
from residuum.losses.inputs.calls import Call, Receiver
from residuum.losses.reductions import Reduction, check_reduction, reduce_batch
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.exact import log_probability
from residuum.losses.routes.rule_circuits import RuleCircuit
from residuum.relaxations.catalogue import EXACT
from residuum.syntax import Domain, Predicate

NAME: Final = "Label"


@final
class CircuitLoss(ExactAnswers, nn.Module):
    """A circuit over binary outputs as a loss: −log of the probability that its constraint holds.

    Its tensor has one number for each variable of the circuit in its last dimension. The questions
    of `CompiledRule` take it under the name `Label`, and answer under that name.

    >>> import torch
    >>> import residuum as rs
    >>> from residuum.circuits import load_circuit
    >>> loss = rs.CircuitLoss(load_circuit("tests/circuits/data/small.nnf"))
    >>> loss.count()  # states of its five variables that obey
    6
    >>> loss.decode(Label=torch.zeros(5))["Label"].shape
    torch.Size([5])
    """

    def __init__(
        self, circuit: Circuit, *, inputs: Form = "logits", reduction: Reduction = "mean"
    ) -> None:
        super().__init__()
        check_reduction(reduction)
        if not isinstance(circuit, Circuit):
            raise GroundingError(
                f"expected a circuit, as `load_circuit` returns, got {type(circuit).__name__}"
            )
        if inputs not in FORMS:
            raise GroundingError(f"inputs: expected one of {', '.join(FORMS)}, got {inputs!r}")
        if set(circuit.sizes) - {2}:
            raise GroundingError(
                "expected a circuit over binary variables, as `load_circuit` returns, got one with "
                f"variables of {max(circuit.sizes)} values; compile the rule itself instead"
            )
        self.circuit = circuit
        self.reduction = reduction
        domain = Domain("label", range(len(circuit.sizes)))
        slot = Slot(NAME, Predicate(NAME, ("label",), is_independent=True), (domain,))
        # The rule is not known, only its circuit.
        plan = Plan(TRUE, (slot,), (Known(True),), 0, ())
        self._definition = Definition(
            plan, EXACT, {NAME: inputs}, detach=None, block=None, replay=False, is_bundle=False
        )
        outputs = tuple(Output(0, number, 2) for number in range(len(circuit.sizes)))
        self._definition.circuits.keep(
            RuleCircuit(
                GroundRule(Propositions(circuit.sizes), Propositions.TRUE, outputs),
                circuit,
                torch.device("cpu"),
            )
        )
        self._receiver = Receiver(self._definition)

    def extra_repr(self) -> str:
        """Return what `print(loss)` shows."""
        return (
            f"{len(self.circuit.sizes)} outputs, {len(self.circuit):,} nodes, "
            f"reduction={self.reduction}"
        )

    def forward(
        self,
        outputs: Tensor | Tensors | None = None,
        /,
        *,
        observed: Any = None,
        **named: Tensor,
    ) -> Tensor:
        """Return the penalty of the batch, or of each example with `reduction="none"`.

        The outputs are one tensor, or a tensor under the name `Label`, as for a rule.

        `observed` are labels, 0 or 1, of outputs that are known, and −100 of all others.
        """
        given = {NAME: outputs} if isinstance(outputs, Tensor) else named_tensors(outputs, named)
        if observed is not None and not isinstance(observed, Mapping):
            observed = {NAME: observed}
        call = self._receiver.receive(Inputs(dict(given), None, observed), check=False)
        with in_full(call.device):
            penalty = -log_probability(self._definition, call)
            if self.reduction == "none":
                return penalty
            return reduce_batch(penalty.flatten(), self.reduction, EXACT, process_group=None)

    def asked(self, given: Inputs, rules: Iterable[str] | None) -> tuple[Definition, Call]:
        """Return the circuit as a rule, and a call of it with its tensor checked."""
        if rules is not None or given.lengths is not None:
            raise GroundingError("expected neither rules= nor lengths=, as a circuit has none")
        tensors = given.tensors
        tensors = dict(tensors) if isinstance(tensors, Mapping) else {NAME: tensors}
        call = self._receiver.receive(given._replace(tensors=tensors), check=False)
        return self._definition, call

    def count(self, length: int | None = None, *, rules: Iterable[str] | None = None) -> int:
        """Return how many predictions obey the constraint."""
        if rules is not None or length is not None:
            raise GroundingError("expected neither rules= nor a length, as a circuit has none")
        return count(self.circuit)
