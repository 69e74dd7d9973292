"""A class hierarchy: parents that have no label, learnt from their children.

Labels say which of four animals a picture shows; rules say what is a mammal and what is a fish.
Both directions are needed: `Has(cat) -> Has(mammal)` alone is obeyed by calling all a mammal.

A sure child with an unsure parent breaks a rule, which can be mended on either side. Under r-godel
parents are not learnt. Under s-product and exact they are, if the rules weigh little; if they weigh
as much as the labels, it is the children that are forgotten. Under r-product parents are learnt and
children kept with either weight. Run it with `python examples/class_hierarchy.py`.
"""

import torch

import residuum as rs

HIERARCHY = rs.loads("""
    domain label = cat, dog, trout, carp, mammal, fish
    predicate Has(label) independent
    rule up: (Has(cat) | Has(dog) -> Has(mammal)) & (Has(trout) | Has(carp) -> Has(fish))
    rule down: (Has(mammal) -> Has(cat) | Has(dog)) & (Has(fish) -> Has(trout) | Has(carp))
""")


def animals(count, shapes):
    """Return made-up images of animals, and the six labels of each."""
    kinds = torch.randint(4, (count,))
    leaves = torch.nn.functional.one_hot(kinds, 4)
    parents = torch.nn.functional.one_hot(kinds // 2, 2)
    return shapes[kinds] + torch.randn(count, 16), torch.cat([leaves, parents], 1)


def trained(relaxation, weight, seed=0):
    """Train under a relaxation; return the shares of images with the right child and parent."""
    torch.manual_seed(seed)
    shapes = torch.randn(4, 16)
    images, labels = animals(200, shapes)
    labels[:, 4:] = -100  # nothing is said of mammals and fish
    network = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 6))
    rules = rs.compile(HIERARCHY, relaxation)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(120):
        logits = network(images)
        loss = rs.facts(logits, labels, independent=True) + weight * rules.total(Has=logits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    images, labels = animals(1000, shapes)
    right = (network(images) > 0) == labels
    return right[:, :4].all(1).float().mean().item(), right[:, 4:].all(1).float().mean().item()


def main():
    """Print what is learnt under four relaxations, with two weights of the rules."""
    print("relaxation  weight  right child  right parent")
    for relaxation in ("r-product", "s-product", "exact", "r-godel"):
        for weight in (0.1, 1.0):
            child, parent = trained(relaxation, weight)
            print(f"{relaxation:<10}  {weight:>6}  {child:>11.0%}  {parent:>12.0%}")


if __name__ == "__main__":
    main()
