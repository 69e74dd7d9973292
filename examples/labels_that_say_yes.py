"""Labels that say only what is there, and rules that say what cannot be there as well.

Somebody notes some of what pictures show, and never what they do not show. A missing label is no
"no": with 0 in its place, most of what is there is denied. It is -100, which `rs.facts` leaves out.
But then nothing says "no", and a network learns to say yes to everything. The rules, in the file
labels_that_say_yes.rsd, are what says it: a cat is no dog, and what has fur has no scales.
Run it with `python examples/labels_that_say_yes.py`.
"""

from pathlib import Path

import torch

import residuum as rs

KNOWLEDGE = rs.load(Path(__file__).with_suffix(".rsd"))
SHOWN = torch.tensor([[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1]])  # cats, dogs, trouts

# Rules in Python share settings: `outputs` may name what a rule does not read.
SETTINGS = {
    "relaxation": "s-product",
    "domains": {"animal": ["cat", "dog", "trout"], "coat": ["fur", "scales"]},
    "outputs": {"Is": "independent", "Wears": "independent"},
}
ONE_ANIMAL = rs.compile("at most 1 x in animal: Is(x)", **SETTINGS)
ONE_COAT = rs.compile("at most 1 x in coat: Wears(x)", **SETTINGS)


def pictures(count, shapes):
    """Return made-up pictures, what they show, and what somebody noted of that."""
    kinds = torch.randint(3, (count,))
    shown = SHOWN[kinds]
    is_noted = (shown == 1) & (torch.rand(count, 5) < 0.4)
    return shapes[kinds] + 0.7 * torch.randn(count, 16), shown, is_noted


def trained(missing, weight, seed=0):
    """Train with a label in the place of missing ones; return the share of pictures all right."""
    torch.manual_seed(seed)
    shapes = torch.randn(3, 16)
    images, _, is_noted = pictures(500, shapes)
    labels = torch.where(is_noted, 1, missing)
    network = torch.nn.Linear(16, 5)
    rules = rs.compile(KNOWLEDGE, "s-product")
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    for _ in range(100):
        logits = network(images)
        loss = rs.facts(logits, labels, independent=True)
        loss = loss + weight * rules.total(Is=logits[:, :3], Wears=logits[:, 3:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    images, shown, _ = pictures(1000, shapes)
    return ((network(images) > 0) == shown).all(1).float().mean().item()


def main():
    """Print what is learnt from the labels in three ways."""
    print(f"missing labels are 0:               {trained(0, 0.0):4.0%} of the pictures are right")
    print(f"missing labels are -100:            {trained(-100, 0.0):4.0%}")
    print(f"missing labels are -100, and rules: {trained(-100, 0.3):4.0%}")
    logits = torch.randn(20, 5)
    animals, coats = logits.split([3, 2], 1)
    in_file = rs.compile(KNOWLEDGE, "s-product")(Is=animals, Wears=coats)
    for name, penalty in (
        ("one_animal", ONE_ANIMAL(Is=animals)),
        ("one_coat", ONE_COAT(Wears=coats)),
    ):
        print(f"{name}: {in_file[name]:.4f} in the file, {penalty:.4f} in Python")


if __name__ == "__main__":
    main()
