"""Random circuits as nested tuples, the files that say the same, and their models by enumeration.

A tuple is ("literal", l), ("and", parts), ("or", parts), ("true",) or ("false",); variables are
numbered from 1. Nothing here uses the package.
"""

from itertools import product
from math import prod

TRUE, FALSE = ("true",), ("false",)


def random_ddnnf(rng, variables):
    """Return a random decomposable and deterministic tuple; few of its sums are smooth."""
    variables = list(variables)
    rng.shuffle(variables)
    roll = rng.random()
    if not variables or roll < 0.04:
        return TRUE if rng.random() < 0.7 else FALSE
    if len(variables) == 1 or roll < 0.1:
        return ("literal", variables[0] * rng.choice((1, -1)))
    if roll < 0.45:
        cut = rng.randrange(1, len(variables))
        return ("and", (random_ddnnf(rng, variables[:cut]), random_ddnnf(rng, variables[cut:])))
    first, rest = variables[0], variables[1:]
    branches = (
        ("and", (("literal", sign * first), random_ddnnf(rng, _some(rng, rest))))
        for sign in (1, -1)
    )
    return ("or", tuple(branches))


def _some(rng, variables):
    return [variable for variable in variables if rng.random() < 0.8]


def holds(node, state):
    """Return whether a state, a tuple of 0 and 1, obeys a tuple."""
    match node:
        case ("literal", literal):
            return state[abs(literal) - 1] == (literal > 0)
        case ("and", parts):
            return all(holds(part, state) for part in parts)
        case ("or", parts):
            return any(holds(part, state) for part in parts)
        case (constant,):
            return constant == "true"


def models(node, variables):
    return {state for state in product((0, 1), repeat=variables) if holds(node, state)}


def as_nnf(node, variables):
    """Return the text of an `.nnf` file; equal parts are one node."""
    lines, numbers, edges = [], {}, 0

    def number(part):
        nonlocal edges
        if part in numbers:
            return numbers[part]
        below = [number(one) for one in part[1]] if part[0] in ("and", "or") else []
        edges += len(below)
        listed = " ".join(map(str, [len(below), *below]))
        word = {"literal": f"L {part[-1]}", "and": f"A {listed}", "true": "A 0"}
        lines.append(word.get(part[0], f"O 0 {listed}"))
        return numbers.setdefault(part, len(lines) - 1)

    number(node)
    return "\n".join([f"nnf {len(lines)} {edges} {variables}", *lines]) + "\n"


def as_ddnnf(node):
    """Return the text of a `.ddnnf` file: the root is node 1, literals stand on edges."""
    lines, numbers = [], {}

    def number(part):
        if part in numbers:
            return numbers[part]
        mine = numbers[part] = len(numbers) + 1
        letter = {"and": "a", "or": "o", "true": "t", "false": "f"}[part[0]]
        lines.append(f"{letter} {mine} 0")
        for one in part[1] if part[0] in ("and", "or") else ():
            parts = one[1] if one[0] == "and" else (one,)
            literals = [str(part[1]) for part in parts if part[0] == "literal"]
            rest = tuple(part for part in parts if part[0] != "literal")
            child = number(rest[0] if len(rest) == 1 else ("and", rest) if rest else TRUE)
            lines.append(" ".join([str(mine), str(child), *literals, "0"]))
        return mine

    number(("or", (node,)))
    return "\n".join(lines) + "\n"


def random_vtree(rng, variables):
    """Return a random vtree: a variable, or a pair of vtrees."""
    variables = list(variables)
    if len(variables) == 1:
        return variables[0]
    cut = rng.randrange(1, len(variables))
    return random_vtree(rng, variables[:cut]), random_vtree(rng, variables[cut:])


def as_sdd(vtree, found):
    """Return the texts of the `.sdd` and `.vtree` files of a set of models.

    A model is a tuple of 0 and 1 for the variables from left to right. The states of the left
    variables are grouped by what they leave of the models: each group is a prime.
    """
    tree_lines, lines, trees, nodes = [], [], {}, {}

    def tree(part):
        if isinstance(part, int):
            tree_lines.append(f"L {len(trees)} {part}")
        else:
            left, right = map(tree, part)
            tree_lines.append(f"I {len(trees)} {left} {right}")
        return trees.setdefault(part, len(trees))

    def node(part, obeying):
        width = _width(part)
        key = ("T",) if len(obeying) == 2**width else ("F",) if not obeying else (part, obeying)
        if key not in nodes:
            nodes[key] = None  # children take their numbers first
            line = key[0] if len(key) == 1 else written(part, obeying)
            nodes[key] = sum(value is not None for value in nodes.values())
            word, _, rest = line.partition(" ")
            lines.append(f"{word} {nodes[key]} {rest}".strip())
        return nodes[key]

    def written(part, obeying):
        if isinstance(part, int):
            return f"L {trees[part]} {part if (1,) in obeying else -part}"
        cut = _width(part[0])
        groups = {}
        for left in product((0, 1), repeat=cut):
            rest = frozenset(model[cut:] for model in obeying if model[:cut] == left)
            groups.setdefault(rest, set()).add(left)
        pairs = [
            (node(part[0], frozenset(left)), node(part[1], rest)) for rest, left in groups.items()
        ]
        return f"D {trees[part]} {len(pairs)} " + " ".join(f"{p} {s}" for p, s in pairs)

    tree(vtree)
    node(vtree, frozenset(found))
    return (
        "\n".join([f"sdd {len(lines)}", *lines]) + "\n",
        "\n".join([f"vtree {len(tree_lines)}", *tree_lines]) + "\n",
    )


def _width(vtree):
    return 1 if isinstance(vtree, int) else sum(map(_width, vtree))


def enumerated(circuit):
    """Return the states that obey a circuit with the number of proofs of each, by enumeration."""
    values = [(i, v) for i, size in enumerate(circuit.sizes) for v in range(size)]
    found = {}
    for state in product(*map(range, circuit.sizes)):
        proofs = []
        for place, kind in enumerate(circuit.kinds):
            below = circuit.children[circuit.starts[place] : circuit.starts[place + 1]]
            if kind == 0:
                variable, value = values[circuit.leaves[place]]
                proofs.append(int(state[variable] == value))
            elif kind == 1:
                proofs.append(prod(proofs[child] for child in below))
            else:
                proofs.append(sum(proofs[child] for child in below))
        if proofs[-1]:
            found[state] = proofs[-1]
    return found
