"""Rule → plan: its steps, with an axis for each variable."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from residuum.errors import GroundingError, suggest
from residuum.grounding.comparisons import (
    computed_terms,
    is_integral,
    refuse_numbers,
    refuse_quantities,
    smoothing_of,
)
from residuum.grounding.plans import (
    Axis,
    Compared,
    Connect,
    Guarded,
    Known,
    Plan,
    Position,
    Quantify,
    Read,
    Rows,
    Slot,
    Step,
)
from residuum.grounding.relations import (
    reading_of,
    reads_related,
    refuse_rebound,
    relates_members,
    split_guard,
)
from residuum.grounding.signatures import Signature, check_variables, quantities_in
from residuum.grounding.truth_constants import settled
from residuum.limits import MOST_NESTED
from residuum.logic import (
    And,
    Atom,
    Comparison,
    Constant,
    CountOf,
    CountQuantifier,
    Forall,
    Formula,
    Iff,
    Implies,
    Node,
    Not,
    Or,
    Quantifier,
    Term,
    Truth,
    Variable,
    depth,
    distinct_nodes,
    fold_scoped,
    free_variables,
    substitute,
)
from residuum.logic.formulas import FALSE, TRUE, Exists
from residuum.logic.questions import atoms_of, free_variables_by_node
from residuum.syntax import Domain, Predicate


class _Scope(NamedTuple):
    """What encloses a node: the axes of its variables, and the guards that hold there.

    `is_root` says that only `forall`s enclose it, and `outermost` are their dimensions. Questions
    name the groundings of these `forall`s one by one, so that each of their variables needs its own
    dimension, even if the body does not use it.
    """

    axes: tuple[Axis, ...] = ()
    guards: tuple[Guarded, ...] = ()
    is_root: bool = True
    outermost: tuple[int, ...] = ()


class _Bound(NamedTuple):
    """The axes of a quantifier and the two parts of its guard.

    `members` is about members of open domains, and belongs to the rows if the variables do.
    """

    axes: tuple[Axis, ...]
    guard: Guarded | None
    members: Guarded | None


def plan_rule(formula: Formula, signature: Signature) -> Plan:
    """Return the plan of a formula without free variables; GroundingError says what is wrong."""
    nested = depth(formula)
    if nested > MOST_NESTED:
        raise GroundingError(
            f"expected a rule nested {MOST_NESTED} deep at most, got one nested {nested:,} deep; "
            "write chains of `&` or `|` without brackets, which are one level, or split the rule"
        )
    free = free_variables_by_node(formula)
    planned = formula
    if TRUE in free or FALSE in free:  # constants are among the nodes
        planned = settled(formula)
        free = free_variables_by_node(planned)
    relates = relates_members(planned, signature)
    planning = _Planning(
        signature,
        free,
        is_relation=relates or reads_related(planned, signature),
        is_batch=not relates,
    )
    fold_scoped(
        planned,
        {
            Truth: lambda node, _, __: planning.add(Known(node.value)),
            Atom: lambda node, _, scope: planning.read(node, scope),
            Comparison: lambda node, _, scope: planning.compare(node, scope),
            Forall: lambda node, parts, scope: planning.quantify(node, parts[0], scope),
            Exists: lambda node, parts, scope: planning.quantify(node, parts[0], scope),
            CountQuantifier: lambda node, parts, scope: planning.quantify(node, parts[0], scope),
            CountOf: lambda node, parts, _: planning.add(
                Connect(CountOf, tuple(parts), node.count)
            ),
            **dict.fromkeys(
                (Not, And, Or, Implies, Iff),
                lambda node, parts, _: planning.add(Connect(type(node), tuple(parts))),
            ),
        },
        scope=_Scope(),
        descend=planning.descend,
    )
    return planning.finish(formula)


class _Planning:
    def __init__(
        self,
        signature: Signature,
        free: Mapping[Node, frozenset[str]],
        *,
        is_relation: bool,
        is_batch: bool,
    ) -> None:
        self._signature = signature
        self._free = free
        self._is_relation = is_relation
        self._is_batch = is_batch
        self._bound: dict[tuple[Quantifier, _Scope], _Bound] = {}
        self._rows: dict[Quantifier, tuple[tuple[Axis, ...], Formula | None]] = {}
        self._observed: dict[str, Predicate] = {}
        self._slots: dict[str, Slot] = {}
        self._numbers: dict[str, int] = {}
        self._quantities: dict[str, Slot] = {}
        self._compared: dict[tuple[Comparison, tuple[Axis, ...], tuple[Guarded, ...]], str] = {}
        self._reads_sequences = False
        self._steps: list[Step] = []
        self._rank = 0

    def finish(self, formula: Formula) -> Plan:
        functions = tuple(self._signature.functions.items())
        fixed = tuple(self._positions_below(len(self._steps) - 1, frozenset()))
        slots, steps = tuple(self._slots.values()), tuple(self._steps)
        quantities = tuple(self._quantities.values())
        relation = self._relation() if self._is_relation else None
        plan = Plan(formula, slots, steps, self._rank, functions, fixed, quantities, relation)
        _refuse_unread_lengths(plan)
        return plan

    def _relation(self) -> Rows:
        axes = [axis for found, _ in self._rows.values() for axis in found]
        refuse_rebound(axes)
        if any(d.is_sequence for slot in self._slots.values() for d in slot.domains):
            raise GroundingError(
                "expected a rule about several members of open domains to read no sequence, got "
                "one that does; give the sequence a size, or write two rules"
            )
        guards = [guard for _, guard in self._rows.values() if guard is not None]
        observed = tuple(self._observed.values())
        guard = And(*guards) if guards else None
        return Rows(tuple(axes), guard, observed, self._is_batch)

    def add(self, step: Step) -> int:
        self._steps.append(step)
        return len(self._steps) - 1

    def descend(self, node: Node, scope: _Scope) -> Sequence[tuple[Node, Hashable]]:
        if isinstance(node, Quantifier):
            return [(node.body, self._inside(node, scope))]
        if isinstance(node, Atom | Comparison):
            return []
        below = scope._replace(is_root=False, outermost=()) if scope.is_root else scope
        return [(child, self._relevant(child, below)) for child in node.children]

    def _relevant(self, node: Node, scope: _Scope) -> _Scope:
        """Return the part of a scope that a node depends on, so that equal ones are shared."""
        if not scope.axes:
            return scope
        axes = tuple(axis for axis in scope.axes if axis.variable in self._free[node])
        guards = tuple(g for g in scope.guards if set(g.axes) & set(axes))
        return scope._replace(axes=axes, guards=guards)

    def _inside(self, node: Quantifier, scope: _Scope) -> _Scope:
        axes, guard, _ = self._bound[node, scope] = self._bind(node, scope)
        bound = {axis.variable for axis in axes}
        around = tuple(axis for axis in scope.axes if axis.variable not in bound)
        guards = tuple(g for g in scope.guards if not bound & {a.variable for a in g.axes})
        if guard is not None:
            guards = (*guards, guard)
        is_root = scope.is_root and isinstance(node, Forall)
        dimensions = tuple(axis.dimension for axis in axes if axis.dimension is not None)
        outermost = scope.outermost + dimensions if is_root else ()
        return self._relevant(node.body, _Scope(around + axes, guards, is_root, outermost))

    def _bind(self, node: Quantifier, scope: _Scope) -> _Bound:
        taken = {axis.dimension for axis in scope.axes} | set(scope.outermost)
        check_variables(len(taken) + len(node.bindings))
        axes: list[Axis] = []
        for variable, name in node.bindings:
            domain = self._signature.domain(name, f"{variable} in {name}")
            if domain.is_open and scope.is_root and isinstance(node, Forall):
                axes.append(Axis(variable, domain, None))
                continue
            dimension = next(d for d in range(len(taken) + 1) if d not in taken)
            taken.add(dimension)
            self._rank = max(self._rank, dimension + 1)
            axes.append(Axis(variable, domain, dimension))
        guard, members = self._guards(node, (*scope.axes, *axes))
        if scope.is_root and isinstance(node, Forall):
            rows = tuple(axis for axis in axes if axis.dimension is None)
            self._rows[node] = rows, None if members is None else members.guard
            members = None
        return _Bound(tuple(axes), guard, members)

    def _guards(
        self, node: Quantifier, visible: Sequence[Axis]
    ) -> tuple[Guarded | None, Guarded | None]:
        """Return the two parts of a guard: what is known now, and what is known in a call."""
        if node.guard is None:
            return None, None
        refuse_quantities(node.guard, self._signature, [axis.variable for axis in visible])
        members, others = split_guard(node.guard, visible)
        if members is not None and not self._is_relation:
            raise GroundingError(
                f"the guard `{members}`: expected comparisons, got an atom; guards read relations "
                "of open domains only. Write an implication: `forall x in D: P(x) -> …`"
            )
        for atom in atoms_of(members) if members is not None else ():
            predicate = self._predicate(atom)
            if not all(domain.is_open for domain in self._domains(atom, predicate)):
                raise GroundingError(
                    f"the guard `{members}`: expected a relation of members of open domains, got "
                    f"`{atom}`; write it into the body"
                )
            self._observed[predicate.name] = predicate
        return tuple(
            None
            if part is None
            else Guarded(part, tuple(a for a in visible if a.variable in free_variables(part)))
            for part in (None if others is None else self._with_labels(others, visible), members)
        )  # type: ignore[return-value]

    def _with_labels(self, guard: Formula, axes: Sequence[Axis]) -> Formula:
        """Return the guard with a constant for each name that no quantifier binds."""
        unbound = sorted(free_variables(guard) - {axis.variable for axis in axes})
        for name in unbound:
            if not any(axis.domain.has(name) for axis in axes):
                raise GroundingError(
                    f"the guard `{guard}`: `{name}` is neither a variable that a quantifier binds "
                    "nor a label of a domain around it; bind it, or correct the label"
                )
        read = substitute(guard, {Variable(name): Constant(name) for name in unbound})
        known = {axis.variable: axis.domain for axis in axes}
        for node in distinct_nodes(read):
            if isinstance(node, Comparison) and node.operator in ("=", "!="):
                _refuse_foreign_label(node, known)
        return read

    def read(self, atom: Atom, scope: _Scope) -> int:
        slot, terms = self._slot_of(atom, self._predicate(atom), scope)
        self._slots.setdefault(slot.name, slot)
        number = self._numbers.setdefault(slot.name, len(self._numbers))
        return self.add(Read(number, terms, scope.axes, scope.guards))

    def compare(self, node: Comparison, scope: _Scope) -> int:
        """Add the step of a comparison of quantities. `!=` is the negation of `=`."""
        if node.operator == "!=":
            equation = Comparison("=", node.left, node.right)
            return self.add(Connect(Not, (self.compare(equation, scope),)))
        bound = [axis.variable for axis in scope.axes]
        found = quantities_in(node, self._signature.quantities, bound)
        scale, smoothing = smoothing_of(node, found, self._signature, bound)
        for term in computed_terms(node, set(found.values())):
            if is_integral(term, set(found.values())):
                _refuse_members(term, node, scope, "declare a quantity with scale 0, and pass it")
        uses = []
        for use, term in found.items():
            quantity, terms = self._slot_of(use, self._quantity(use), scope)
            self._quantities.setdefault(quantity.name, quantity)
            place = list(self._quantities).index(quantity.name)
            uses.append((term, Read(place, terms, scope.axes, scope.guards)))
        axes = tuple(axis for axis in scope.axes if axis.dimension is not None)
        key = node, axes, scope.guards
        if key not in self._compared:
            name = str(node)
            while name in self._slots:  # the same text over other variables
                name += "'"
            self._compared[key] = name
            predicate = Predicate(name, tuple(axis.domain.name for axis in axes), True)
            compared = Compared(node, tuple(uses), axes, scale, smoothing)
            domains = tuple(axis.domain for axis in axes)
            self._slots[name] = Slot(name, predicate, domains, compared=compared)
            self._numbers[name] = len(self._numbers)
        number = self._numbers[self._compared[key]]
        along = tuple(Variable(axis.variable) for axis in axes)
        return self.add(Read(number, along, scope.axes, scope.guards))

    def _slot_of(
        self, atom: Atom, predicate: Predicate, scope: _Scope
    ) -> tuple[Slot, tuple[Term, ...]]:
        """Return what an atom or a quantity reads, and a term for each of its dimensions."""
        domains = self._domains(atom, predicate)
        terms = []
        kept = []
        members = []
        open_domains = []
        for argument, domain in zip(atom.arguments, domains, strict=True):
            if domain.is_open:
                members.append(self._member(argument, domain, atom, scope))
                open_domains.append(domain.name)
                continue
            term = self._resolve(argument, domain, atom, scope)
            _refuse_members(term, atom, scope, "declare a predicate of both, and observe it")
            terms.append(term)
            kept.append(domain)
        is_plain = all(isinstance(member, Variable) for member in members)
        name = atom.predicate
        if self._is_relation:
            found = reading_of(members, scope.axes)
            members = list(found.members)
            kept = [axis.domain for axis in found.axes] + kept
            terms = [Variable(axis.variable) for axis in found.axes] + terms
        if members and (self._is_relation or not is_plain):
            name += f"({', '.join(map(str, members))})"
        self._reads_sequences |= any(domain.is_sequence for domain in kept)
        slot = Slot(name, predicate, tuple(kept), tuple(members), tuple(open_domains))
        return slot, tuple(terms)

    def _member(self, term: Term, domain: Domain, atom: Atom, scope: _Scope) -> Term:
        """Return an argument over an open domain, checked."""
        if self._is_relation and isinstance(term, Constant):
            return term
        self._resolve(term, domain, atom, scope)
        self._refuse_axes(term, atom, scope)
        return term

    def _quantity(self, use: Atom) -> Predicate:
        domains = self._signature.quantities[use.predicate].domains
        return Predicate(use.predicate, domains or (), is_independent=True)

    def _predicate(self, atom: Atom) -> Predicate:
        known = self._signature.predicates
        if atom.predicate not in known:
            raise GroundingError(
                f"`{atom}`: predicate `{atom.predicate}` is not declared; declare it."
                f"{suggest(atom.predicate, known)}"
            )
        return known[atom.predicate]

    def _domains(self, atom: Atom, predicate: Predicate) -> tuple[Domain, ...]:
        domains = tuple(self._signature.domain(name, atom) for name in predicate.domains)
        if len(domains) != len(atom.arguments):
            raise GroundingError(
                f"`{atom}`: `{atom.predicate}` takes {len(domains)} arguments "
                f"({', '.join(d.name for d in domains) or 'none'}), got {len(atom.arguments)}"
            )
        return domains

    def _resolve(self, term: Term, domain: Domain, atom: Atom, scope: _Scope) -> Term:
        """Return the term, or a constant for a name that no quantifier binds."""
        bound = {axis.variable for axis in scope.axes}
        refuse_numbers(term, atom)
        for name in sorted(self._free[term] - bound):
            if isinstance(term, Variable) and domain.has(name):
                return Constant(name)
            label = str(term).replace(" ", "")  # `B-NP` is read as a difference
            advice = suggest(name, map(str, domain.labels or ()))
            if not isinstance(term, Variable) and domain.has(label):
                advice = f' Write the label in quotes: "{label}"'
            raise GroundingError(
                f"`{atom}`: `{name}` is neither a variable that a quantifier binds nor a label "
                f"of domain {domain}.{advice}"
            )
        return term

    def _refuse_axes(self, member: Term, atom: Atom, scope: _Scope) -> None:
        for axis in scope.axes:
            if axis.domain.is_open:
                continue
            if axis.dimension is not None and axis.variable in self._free[member]:
                raise GroundingError(
                    f"`{atom}`: expected a member of an open domain that depends on the example "
                    f"alone, but `{member}` depends on `{axis.variable}`; give the domain labels"
                )

    def quantify(self, node: Quantifier, body: int, scope: _Scope) -> int:
        axes, guard, members = self._bound[node, scope]
        kept = tuple(axis for axis in axes if axis.dimension is not None)
        if not kept:
            if guard is not None:
                raise GroundingError(
                    f"the guard `{guard.guard}` is about variables of another quantifier; expected "
                    "it after the bindings of these"
                )
            return body
        sequence = [
            Position(Variable(a.variable), (a,), a.domain.name)
            for a in kept
            if a.domain.is_sequence
        ]
        leaving = self._positions_below(body, frozenset(kept))
        positions = tuple(dict.fromkeys(sequence + leaving))
        count = node.count if isinstance(node, CountQuantifier) else None
        return self.add(Quantify(type(node), kept, guard, positions, body, count, members))

    def _positions_below(self, index: int, mine: frozenset[Axis]) -> list[Position]:
        """Return the positions below a step whose innermost variable has one of the axes `mine`.

        A position without variables belongs to the innermost quantifier around it.
        """
        if not self._reads_sequences:
            return []
        slots, quantities = list(self._slots.values()), list(self._quantities.values())
        found: list[Position] = []
        nothing: frozenset[Axis] = frozenset()
        stack = [(index, nothing)]
        seen = set()
        while stack:
            entry = stack.pop()
            if entry in seen:
                continue
            seen.add(entry)
            step, bound = self._steps[entry[0]], entry[1]
            if isinstance(step, Connect):
                stack.extend((operand, bound) for operand in step.operands)
            elif isinstance(step, Quantify):
                stack.append((step.operand, bound | set(step.axes)))
            elif isinstance(step, Read):
                slot = slots[step.slot]
                read = [*zip(step.terms, slot.domains, strict=True)]
                for _, use in slot.compared.uses if slot.compared else ():
                    read += zip(use.terms, quantities[use.slot].domains, strict=True)
                for term, domain in read:
                    used = tuple(a for a in step.axes if a.variable in free_variables(term))
                    is_mine = mine & set(used) if used else not bound
                    if domain.is_sequence and is_mine and not bound & set(used):
                        found.append(Position(term, used, domain.name))
        return found


def _refuse_members(term: Term, where: Formula, scope: _Scope, advice: str) -> None:
    """Raise if a label or a number is computed from a member of an open domain."""
    for axis in scope.axes:
        is_row = axis.domain.is_open and axis.dimension is None
        if is_row and axis.variable in free_variables(term):
            raise GroundingError(
                f"`{where}`: expected labels and numbers that are known when the rule is compiled, "
                f"but `{term}` depends on `{axis.variable}`, a member of the open domain "
                f"`{axis.domain.name}`; {advice}"
            )


def _refuse_foreign_label(comparison: Comparison, known: Mapping[str, Domain]) -> None:
    """Raise if a variable is compared with a constant outside its domain: they are never equal."""
    for variable, constant in itertools.permutations((comparison.left, comparison.right)):
        if not isinstance(variable, Variable) or not isinstance(constant, Constant):
            continue
        domain, value = known[variable.name], constant.value
        is_number = domain.is_numeric and isinstance(value, int)
        if not (domain.has(value) or is_number or domain.labels == ()):
            hint = domain.twin_of(value) or suggest(str(value), map(str, domain.labels or ()))
            raise GroundingError(
                f"the guard `{comparison}`: {constant} is no label of domain {domain}.{hint}"
            )


def _refuse_unread_lengths(plan: Plan) -> None:
    """Raise GroundingError if no tensor shows how many members a variable ranges over."""
    lengths = plan.sequence_domains
    for axis in (axis for step in plan.steps if isinstance(step, Quantify) for axis in step.axes):
        name = axis.domain.name
        if axis.domain.is_open and name not in lengths:
            raise GroundingError(
                f"`{axis.variable} in {name}`: no atom reads `{axis.variable}`; leave it out"
            )
        if axis.domain.is_sequence and name not in lengths:
            raise GroundingError(
                f"`{axis.variable} in {name}`: tensors give the length of a sequence, but no "
                f"predicate of the rule has `{name}` among its domains; give it to a predicate "
                "(predicates={...}), or the domain a size"
            )
