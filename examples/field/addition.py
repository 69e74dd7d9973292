"""MNIST addition: two numbers of N handwritten digits each, of which only the sum is given.

The rule is addition as it is learnt at school, column by column with carries. From sums and this
rule the network learns to read digits. Under `exact` the penalty is −log of the probability of the
sum; the carries are summed out, so that the cost grows linearly with N. Relaxations know no hidden
carries: they learn from N = 1, with the rule in two forms. `digit-labels` trains the same network
in the same way on the digits themselves, which is the ceiling.

    residuum field addition --quick
    residuum field addition --part N=15 --method exact

Each image is used once. A sum is predicted by reading each digit, and it is right only as a whole.
"""

import torch
from torch import nn

import residuum as rs
from residuum.field import Measure, Published, Task, load_images

COLUMNS = """
    domain place = 0..{last}
    domain column = 0..{digits}
    domain digit = 0..9
    domain bit = 0, 1
    predicate Left(place, digit)
    predicate Right(place, digit)
    predicate Sum(column, digit)
    predicate Carry(column, bit) hidden
    rule first: Carry(0, 0)
    rule digits: forall p in place, a, b in digit, c in bit:
        Left(p, a) & Right(p, b) & Carry(p, c) -> Sum(p, (a + b + c) mod 10)
    rule carries: forall p in place, a, b in digit, c in bit:
        Left(p, a) & Right(p, b) & Carry(p, c) -> Carry(p + 1, (a + b + c) div 10)
    rule last: forall c in bit: Carry({digits}, c) -> Sum({digits}, c)
"""
IMPLIES = "forall a, b in digit: Left(a) & Right(b) -> Sum(a + b)"
EXISTS = "exists a, b in digit: Left(a) & Right(b) & Sum(a + b)"
RELAXATIONS = ("s-product", "r-product", "s-godel", "lukasiewicz-maxsat")


def load(quick):
    """Return images of 28 × 28 pixels and their digits, for training and for TEST."""
    data = load_images("embedded" if quick else "mnist")
    train, test = (torch.tensor(part)[:, None].float() for part in (data.train, data.test))
    mean, deviation = train.mean(), train.std()
    images = [nn.functional.interpolate((one - mean) / deviation, 28) for one in (train, test)]
    return list(zip(images, map(torch.tensor, (data.train_labels, data.test_labels)), strict=True))


def draw(data, run):
    """Return images (2, numbers, N, 1, 28, 28) and digits (2, numbers, N) to train and to measure.

    The last digit of a number comes first. The seed decides which image is where.
    """
    torch.manual_seed(run.seed)
    (images, digits), test = data
    if run.split == "valid":
        order = torch.randperm(len(images))
        chosen, held_out = order[len(order) // 6 :], order[: len(order) // 6]
        train, test = (images[chosen], digits[chosen]), (images[held_out], digits[held_out])
    else:
        train = data[0]
    for part in (train, test):
        count = len(part[0]) // (2 * run["digits"])
        order = torch.randperm(len(part[0]))[: 2 * run["digits"] * count]
        for one in part:
            shape = (2, count, run["digits"], *one.shape[1:])
            yield one[order].reshape(shape).to(run.device)


def columns_of(digits):
    """Return the columns (numbers, N + 1) of the sums of numbers (2, numbers, N)."""
    columns, carry = [], 0
    for both in digits.sum(0).unbind(-1):
        columns.append((both + carry) % 10)
        carry = (both + carry) // 10
    return torch.stack([*columns, carry], -1)


def make_loss(run):
    """Return a loss of the logits (2, batch, N, 10) of two numbers, and their columns."""
    if run["form"] == "columns":
        text = COLUMNS.format(last=run["digits"] - 1, digits=run["digits"])
        knowledge = rs.compile(rs.loads(text), run["relaxation"])
        return lambda logits, columns: knowledge.total(
            {"Left": logits[0], "Right": logits[1]}, observed={"Sum": columns}
        )
    rule = rs.compile(
        run["form"],
        run["relaxation"],
        domains={"digit": 10, "sum": 19},
        predicates={"Sum": ("sum",)},
    )
    return lambda logits, columns: rule(
        Left=logits[0, :, 0],
        Right=logits[1, :, 0],
        observed={"Sum": columns[:, 0] + 10 * columns[:, 1]},
    )


def lenet(dropout):
    """Return LeNet with dropout before its linear layers: ten logits of an image."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(6, 16, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Dropout(dropout),
        nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


def train(data, run):
    """Train on the sums alone; return the accuracy of sums and of digits, in percent."""
    images, digits, test_images, test_digits = draw(data, run)
    columns, rule = columns_of(digits), make_loss(run) if run["form"] else None
    network = lenet(run["dropout"]).to(run.device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=run["decay"])
    count, batch = len(columns), max(run["batch"] // run["digits"], 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, run["rate"], total_steps=run["epochs"] * -(-count // batch)
    )
    for epoch in run.epochs():
        for chosen in torch.randperm(count, device=run.device).split(batch):
            seen = images[:, chosen]
            logits = network(seen.flatten(0, 2)).unflatten(0, seen.shape[:3])
            if rule is None:
                loss = nn.functional.cross_entropy(
                    logits.flatten(0, 2), digits[:, chosen].flatten()
                )
            else:
                loss = rule(logits, columns[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        run.check(epoch, loss=loss)
    network.eval()
    with torch.no_grad():
        read = network(test_images.flatten(0, 2)).argmax(-1).view_as(test_digits)
    is_right = (columns_of(read) == columns_of(test_digits)).all(-1)
    return {
        "sum": 100 * is_right.float().mean().item(),
        "digit": 100 * (read == test_digits).float().mean().item(),
    }


def published(method, source, *sums):
    """Return the accuracies of sums that others printed, for N = 1, 2, 4 and 15."""
    found = zip(PARTS, sums, strict=True)
    return [Published(method, part, {"sum": one}, source) for part, one in found if one]


PARTS = {f"N={digits}": {"digits": digits} for digits in (1, 2, 4, 15)}
ANESI = "van Krieken et al. 2023, collected results"
NESYDM = "van Krieken et al. 2025, table 1"
TASK = Task(
    name="addition",
    title="MNIST addition",
    shows="exact counting in a chain with carries, beside relaxations",
    load=load,
    train=train,
    measures={"sum": Measure("sums", chance=0.0), "digit": Measure("digits", chance=10.0)},
    parts=PARTS,
    methods={
        "digit-labels": {"form": "", "relaxation": ""},
        "exact": {"form": "columns", "relaxation": "exact"},
        **{one: {"form": EXISTS, "relaxation": one} for one in RELAXATIONS},
        **{f"{one}-implies": {"form": IMPLIES, "relaxation": one} for one in RELAXATIONS},
        "s-godel": {"form": EXISTS, "relaxation": "s-godel", "rate": 0.002},
    },
    only_in={one + form: ["N=1"] for one in RELAXATIONS for form in ("", "-implies")},
    settings={"epochs": 8, "batch": 64, "rate": 0.006, "decay": 0.01, "dropout": 0.2},
    quick={"epochs": 10, "batch": 16},
    published=[
        *published("DeepProbLog", ANESI, 97.2, 95.2, None, None),
        *published("NeurASP", ANESI, 97.3, 93.9, None, None),
        *published("DeepStochLog", ANESI, 97.9, 96.4, 92.7, None),
        *published("A-NeSI, predict", "van Krieken et al. 2023", 97.7, 96.0, 92.6, 75.9),
        *published("DeepSoftLog", NESYDM, None, None, 93.5, 77.1),
        *published("PLIA", NESYDM, None, None, 91.8, 79.0),
        *published("Scallop", NESYDM, None, None, 90.9, None),
        *published("DPrL", "read at second hand", None, None, 94.0, 80.8),
    ],
)
