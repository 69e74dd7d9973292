"""Visual Sudoku: boards of 4 × 4 handwritten digits, known only to be valid or not.

The rule of Sudoku is one formula about what stands in the cells; `Valid` holds if and only if it
does, and is observed. From this alone the network learns to tell four digits apart, though not
which of them is called what: the names of digits play no part in Sudoku. So cells are counted
under the best renaming of the four.

Boards are drawn by seed as in ViSudo-PC (Augustine et al., NeSy 2022): half of them are copies of
valid boards in which digits are replaced or swapped until the board is no longer valid.
"""

import torch
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, interpolate

import residuum as rs
from residuum.field import Measure, Task, load_images

WORLD = {
    "domains": {"line": 4, "half": 2, "digit": 4},
    "predicates": {"Cell": ("line", "line", "digit")},
}
FORMS = {
    "exists!": """
        (forall r in line, d in digit: exists! c in line: Cell(r, c, d))
        & (forall c in line, d in digit: exists! r in line: Cell(r, c, d))
        & (forall a, b in half, d in digit: exists! i, j in half: Cell(2 * a + i, 2 * b + j, d))""",
    "pairs": """
        (forall r, c, e in line, d in digit where c < e: ~(Cell(r, c, d) & Cell(r, e, d)))
        & (forall c, r, s in line, d in digit where r < s: ~(Cell(r, c, d) & Cell(s, c, d)))
        & (forall a, b, i, j, k, l in half, d in digit where i < k | i = k & j < l:
            ~(Cell(2 * a + i, 2 * b + j, d) & Cell(2 * a + k, 2 * b + l, d)))""",
}


def rule_of(run):
    """Return the loss of boards (boards, 4, 4, 4) that are valid or not, under a relaxation."""
    text = f"Valid <-> ({FORMS[run['form']]})"
    rule = rs.compile(text, run["relaxation"], **WORLD)
    return lambda cells, valid: rule(Cell=cells, observed={"Valid": valid})


def load(quick):
    """Return images of the digits 0 to 3, by digit, to train with and for TEST."""
    data = load_images("embedded" if quick else "mnist")
    found = []
    for images, digits in ((data.train, data.train_labels), (data.test, data.test_labels)):
        shown = torch.tensor(images)[:, None].float() / data.whitest
        found.append([interpolate(shown[torch.tensor(digits) == one], 28) for one in range(4)])
    return found


def draw(by_digit, boards, sudoku):
    """Return images (2 × boards, 16, 1, 28, 28), digits (2 × boards, 4, 4), and what is valid.

    An image is used again only when all others of its digit were.
    """
    valid = sudoku.sample({"Cell": torch.zeros(1, 4, 4, 4)}, boards)["Cell"].squeeze(1)
    orders = [torch.randperm(len(images)) for images in by_digit]
    used = [0] * 4

    def take(digit):
        used[digit] += 1
        return orders[digit][used[digit] % len(orders[digit])]

    shown = torch.tensor([[take(digit) for digit in board] for board in valid.flatten(1).tolist()])
    digits, numbers = [*valid.flatten(1)], [*shown]
    for board, images in zip(valid.flatten(1), shown, strict=True):
        digits_now, images_now = corrupt(board, images, take, sudoku)
        digits.append(digits_now)
        numbers.append(images_now)
    digits, numbers = torch.stack(digits), torch.stack(numbers)
    images = torch.zeros(*digits.shape, 1, 28, 28)
    for digit, known in enumerate(by_digit):
        images[digits == digit] = known[numbers[digits == digit]]
    labels = (torch.arange(2 * boards) < boards).long()
    return images, digits.unflatten(1, (4, 4)), labels


def corrupt(board, images, take, sudoku):
    """Return a copy of a board that is not valid, by replaced or by swapped digits."""
    replaces = bool(torch.rand(()) < 0.5)
    while True:
        digits, shown = board.clone(), images.clone()
        places, goes_on = torch.randperm(16).tolist(), True
        while goes_on and len(places) > 1:
            one = places.pop()
            if replaces:
                digits[one] = (digits[one] + torch.randint(1, 4, ())) % 4
                shown[one] = take(int(digits[one]))
            else:
                pair = [one, places.pop()]
                digits[pair], shown[pair] = digits[pair[::-1]], shown[pair[::-1]]
            goes_on = bool(torch.rand(()) < 0.5)
        if not sudoku.satisfied({}, observed={"Cell": digits.view(1, 4, 4)}).item():
            return digits, shown


def lenet():
    """Return the network that reads an image, with a logit for each of four digits."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(6, 16, 5), nn.MaxPool2d(2),
        nn.ReLU(), nn.Flatten(), nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
        nn.Linear(84, 4),
    )  # fmt: skip


def train(data, run):
    """Train on boards and on whether they are valid, and measure boards and cells."""
    torch.manual_seed(run.seed)
    sudoku = rs.compile(FORMS["exists!"], "exact", **WORLD, reduction="none")
    training, held_out = data
    if run.split == "valid":
        held_out = [images[-1000:] for images in training]
        training = [images[:-1000] for images in training]
    given = [one.to(run.device) for one in draw(training, run["boards"], sudoku)]
    network = lenet().to(run.device)
    judge = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1))
    judge = judge.to(run.device)

    def read(images):
        return network(images.flatten(0, 1)).unflatten(0, (-1, 4, 4))

    def judged(cells):
        return judge(cells.softmax(-1))[:, 0]

    rule = rule_of(run) if run["learns"] == "rule" else None
    parameters = [*network.parameters(), *judge.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=run["rate"])
    for epoch in run.epochs():
        for batch in torch.randperm(len(given[0]), device=run.device).split(run["batch"]):
            images, digits, valid = (one[batch] for one in given)
            cells = read(images)
            if rule is not None:
                loss = rule(cells, valid)
            elif run["learns"] == "judge":
                loss = binary_cross_entropy_with_logits(judged(cells), valid.float())
            else:
                loss = cross_entropy(cells.flatten(0, 2), digits.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        run.check(epoch, loss=loss.detach())
    images, digits, valid = draw(held_out, run["measured"], sudoku)
    with torch.no_grad():
        cells = read(images.to(run.device))
        if run["learns"] == "judge":
            scores = judged(cells)
            guessed = scores > 0
        else:
            scores, guessed = -sudoku(Cell=cells), sudoku.satisfied(Cell=cells)
    return {
        "boards": 100 * (guessed.cpu() == valid.bool()).float().mean().item(),
        "auroc": 100 * roc_auc_score(valid, scores.cpu()),
        "cells": 100 * renamed(cells.argmax(-1).cpu().flatten(), digits.flatten()),
    }


def renamed(guessed, digits):
    """Return the share of cells that are right if the four digits are renamed for the best."""
    counts = torch.stack([(4 * digits + guessed == one).sum() for one in range(16)]).view(4, 4)
    return (counts[linear_sum_assignment(counts, maximize=True)].sum() / len(digits)).item()


SETTINGS = {
    "learns": "rule", "relaxation": "s-product", "form": "exists!", "boards": 1000,
    "measured": 100, "epochs": 10, "batch": 20, "rate": 1e-3,
}  # fmt: skip
ONCE = ("s-product-pairs", "r-product-pairs", "r-product", "lukasiewicz-maxsat", "s-godel")
TASK = Task(
    name="sudoku",
    title="Visual Sudoku 4 × 4",
    shows="a rule with exists!, from the information alone whether boards are valid",
    load=load,
    train=train,
    methods={
        "exact": {"relaxation": "exact"},
        "s-product": {},
        "s-product-pairs": {"form": "pairs"},
        "r-product": {"relaxation": "r-product"},
        "r-product-pairs": {"relaxation": "r-product", "form": "pairs"},
        "lukasiewicz-maxsat": {"relaxation": "lukasiewicz-maxsat"},
        "s-godel": {"relaxation": "s-godel"},
        "mlp-instead-of-rule": {"learns": "judge"},
        "cell-labels": {"learns": "labels"},
    },
    measures={
        "auroc": Measure("AUROC of boards", chance=50.0),
        "boards": Measure("boards, valid or not", chance=50.0),
        "cells": Measure("cells", chance=25.0),
    },
    parts={"200-boards": {"boards": 100, "epochs": 60}, "2000-boards": {"boards": 1000}},
    only_in={name: ["200-boards"] for name in ONCE},
    settings=SETTINGS,
    quick={"boards": 60, "measured": 50, "epochs": 15},
    notes=[
        "No published figures stand here: none was found in a source that could be read.",
        "A board is read right if all of its 16 cells are.",
        "Cells are counted under the best renaming of the digits, which no board can tell.",
    ],
)
