"""Reasoning shortcuts: the sums are right and the digits are wrong; and how few labels mend it.

Only sums of a few combinations of digits are ever seen, as in the tasks MNIST-Half and even–odd of
rsbench. Several ways to read the digits give all of these sums, and a network may learn any of
them. `rs.shortcuts` counts these ways before anything is trained, and names the fewest digits that
have to be labelled. With a few labelled images of these digits every digit is learnt.

    residuum field shortcuts --quick
"""

import torch
from torch import nn

import residuum as rs
from residuum.field import Measure, Task, load_images

SUM = "exists a, b in digit: Left(a) & Right(b) & Sum(a + b)"
RELAXATIONS = ("s-product", "r-product", "lukasiewicz-maxsat", "s-godel")
PARTS = {
    "half": {"digits": 5, "pairs": "0+0 0+1 2+3 2+4"},
    "even-odd": {"digits": 10, "pairs": "0+6 2+8 4+6 4+8 1+5 3+7 1+9 3+9"},
}


def load(quick):
    """Return images of 28 × 28 pixels and their digits, for training and for TEST."""
    data = load_images("embedded" if quick else "mnist")
    train, test = (torch.tensor(part)[:, None].float() for part in (data.train, data.test))
    mean, deviation = train.mean(), train.std()
    images = [nn.functional.interpolate((one - mean) / deviation, 28) for one in (train, test)]
    return list(zip(images, map(torch.tensor, (data.train_labels, data.test_labels)), strict=True))


def split(data, run):
    """Return images and digits to train and to measure, of the digits that occur."""
    (images, digits), test = data
    if run.split == "valid":
        torch.manual_seed(run.seed)
        order = torch.randperm(len(images))
        held_out = len(order) // 6
        test = images[order[:held_out]], digits[order[:held_out]]
        images, digits = images[order[held_out:]], digits[order[held_out:]]
    for some, known in ((images, digits), test):
        occurs = known < run["digits"]
        yield some[occurs].to(run.device), known[occurs].to(run.device)


def draw(digits, pairs):
    """Return the places of a random image of each digit."""
    found = torch.empty_like(pairs)
    for digit in pairs.unique():
        of_digit = (digits == digit).nonzero()[:, 0]
        wanted = pairs == digit
        found[wanted] = of_digit[torch.randint(len(of_digit), (int(wanted.sum()),))]
    return found


def knowledge_of(run):
    """Return addition of two digits as a knowledge."""
    return rs.loads(f"""
        domain digit = 0..{run["digits"] - 1}
        domain sum = 0..{2 * run["digits"] - 2}
        predicate Left(digit)
        predicate Right(digit)
        predicate Sum(sum)
        rule addition: {SUM}
    """)


def find_shortcuts(run, pairs):
    """Return the ways to read digits that give the same sums."""
    examples = {"Left": pairs[0], "Right": pairs[1], "Sum": pairs.sum(0)}
    return rs.shortcuts(knowledge_of(run), examples, [("Left", "Right")])


def lenet(classes):
    """Return LeNet: a logit of an image for each digit."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(6, 16, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
        nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, classes),
    )  # fmt: skip


def train(data, run):
    """Train on the sums, and on a few labels if the method has them; return accuracies."""
    with run.device:  # all tensors are made there
        return train_on(*split(data, run), run)


def train_on(train_set, test_set, run):
    """Train and measure on images with their digits."""
    (images, digits), (test_images, test_digits) = train_set, test_set
    torch.manual_seed(run.seed)
    seen = torch.tensor([[int(pair[0]), int(pair[2])] for pair in run["pairs"].split()]).T
    named = find_shortcuts(run, seen).labels_needed["Left"]
    chosen = seen.unique() if run["of"] == "every" else torch.tensor(named)
    labels = chosen.repeat(run["labels"])
    labelled = draw(digits, labels)
    rules = rs.compile(knowledge_of(run), run["relaxation"])
    network = lenet(run["digits"])
    optimizer = torch.optim.Adam(network.parameters(), lr=run["rate"])
    for epoch in run.epochs():
        for _ in range(run["steps"]):
            pairs = seen[:, torch.randint(seen.shape[1], (run["batch"],))]
            places, known = draw(digits, pairs), torch.full_like(pairs, -100)
            if run["labels"]:  # half of the images of these digits are labelled ones
                is_known = torch.isin(pairs, chosen) & (torch.rand(pairs.shape) < 0.5)
                places[is_known] = labelled[draw(labels, pairs[is_known])]
                known[is_known] = pairs[is_known]
            logits = network(images[places.flatten()]).unflatten(0, pairs.shape)
            observed = {"Left": known[0], "Right": known[1], "Sum": pairs.sum(0)}
            loss = rules.total({"Left": logits[0], "Right": logits[1]}, observed=observed)
            if run["labels"]:
                loss = loss + nn.functional.cross_entropy(network(images[labelled]), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        run.check(epoch, loss=loss)
    with torch.no_grad():
        read = network(test_images).argmax(-1)
    every = torch.cartesian_prod(*[torch.arange(run["digits"])] * 2).T
    is_seen = (every[:, :, None] == seen[:, None]).all(0).any(-1)
    return {
        "digit": accuracy(read, test_digits),
        "sum": sum_accuracy(read, test_digits, seen),
        "other": sum_accuracy(read, test_digits, every[:, ~is_seen]),
    }


def accuracy(found, expected):
    """Return how often both are the same, in percent."""
    return 100 * (found == expected).float().mean().item()


def sum_accuracy(read, digits, pairs):
    """Return the accuracy of sums over 2,000 random pairs of TEST images with these digits."""
    places = draw(digits, pairs[:, torch.randint(pairs.shape[1], (2000,))])
    return accuracy(read[places].sum(0), digits[places].sum(0))


TASK = Task(
    name="shortcuts",
    title="Sums of few combinations of digits",
    shows="shortcuts, which are counted beforehand, and the labels that mend them",
    load=load,
    train=train,
    measures={
        "digit": Measure("digits", chance=10.0),
        "sum": Measure("seen sums"),
        "other": Measure("other sums"),
    },
    parts=PARTS,
    methods={
        "exact": {"labels": 0},
        **{name: {"labels": 0, "relaxation": name} for name in RELAXATIONS},
        "exact-1-named": {"labels": 1},
        "exact-10-named": {"labels": 10},
        "exact-10-every": {"labels": 10, "of": "every"},
    },
    settings={
        "relaxation": "exact",
        "of": "named",
        "epochs": 10,
        "steps": 100,
        "batch": 32,
        "rate": 0.002,
    },
    quick={"epochs": 3},
)
