"""The page of visual Sudoku: its pieces against brute force, and all of it at a tiny size."""

import math
import sys
from itertools import permutations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

import residuum as rs  # noqa: E402
from residuum.field import find_task, plan  # noqa: E402

TASK = find_task("sudoku")
PAGE = sys.modules[TASK.train.__module__]


def is_valid(board):
    """Return whether four rows of four digits are a valid board."""
    units = [*board, *zip(*board, strict=True)]
    units += [[board[r + i][c + j] for i in (0, 1) for j in (0, 1)] for r in (0, 2) for c in (0, 2)]
    return all(len(set(unit)) == 4 for unit in units)


def valid_boards(rows=()):
    """Yield all valid boards, row by row."""
    if len(rows) == 4:
        if is_valid(rows):
            yield rows
        return
    for row in permutations(range(4)):
        if all(a != b for other in rows for a, b in zip(row, other, strict=True)):
            yield from valid_boards((*rows, row))


BOARDS = torch.tensor(list(valid_boards()))


@pytest.fixture(scope="module")
def sudoku():
    return rs.compile(PAGE.FORMS["exists!"], "exact", **PAGE.WORLD, reduction="none")


def test_there_are_288_valid_boards(sudoku):
    assert len(BOARDS) == sudoku.count() == 288


@pytest.mark.parametrize("form", PAGE.FORMS)
def test_both_forms_of_the_rule_say_what_a_valid_board_is(form):
    rule = rs.compile(PAGE.FORMS[form], "s-product", **PAGE.WORLD)
    torch.manual_seed(0)
    changed = BOARDS.clone().flatten(1)
    changed[torch.arange(288), torch.randint(16, (288,))] = torch.randint(4, (288,))
    boards = torch.cat([BOARDS, changed.view(-1, 4, 4), torch.randint(4, (50, 4, 4))])
    expected = [is_valid(board) for board in boards.tolist()]
    assert 288 < sum(expected) < len(boards) - 100
    assert rule.satisfied({}, observed={"Cell": boards}).tolist() == expected


def test_the_exact_loss_is_that_of_all_valid_boards():
    cells = 2 * torch.randn(2, 4, 4, 4, generator=torch.Generator().manual_seed(1))
    cells[1] = torch.nn.functional.one_hot(BOARDS[7], 4) * 4.0
    logs = cells.double().log_softmax(-1)
    chosen = (
        logs[:, None]
        .expand(-1, 288, -1, -1, -1)
        .gather(-1, BOARDS[None, ..., None].expand(2, -1, -1, -1, 1))
    )
    chances = chosen.squeeze(-1).sum((2, 3)).exp().sum(1).tolist()
    loss = PAGE.rule_of({"form": "exists!", "relaxation": "exact"})
    for valid in (0, 1):
        expected = -sum(math.log(p if valid else 1 - p) for p in chances) / 2
        found = loss(cells, torch.tensor([valid, valid]))
        assert float(found) == pytest.approx(expected, rel=1e-4)


def test_half_of_the_boards_are_valid_and_images_show_their_digits(sudoku):
    torch.manual_seed(2)
    shown = [torch.full((200, 1, 28, 28), float(digit)) for digit in range(4)]
    for images in shown:  # the number of the image, so that a second use is noticed
        images[:, 0, 0, 0] = torch.arange(200.0)
    images, digits, valid = PAGE.draw(shown, 12, sudoku)
    assert images.shape == (24, 16, 1, 28, 28)
    assert valid.tolist() == 12 * [1] + 12 * [0]
    assert [int(is_valid(board)) for board in digits.tolist()] == valid.tolist()
    assert images[:, :, 0, 1, 1].long().equal(digits.flatten(1))
    first = images[:12, :, 0, 0, 0] + 1000 * digits[:12].flatten(1)
    assert len(first.unique()) == first.numel()
    changed = (digits[12:] != digits[:12]).flatten(1).sum(1)
    assert changed.min() >= 1
    assert (images[12:] != images[:12]).flatten(2).any(2).sum(1).tolist() >= changed.tolist()


def test_both_ways_to_spoil_a_board_occur(sudoku):
    torch.manual_seed(3)
    numbers = torch.arange(16)
    kept = [PAGE.corrupt(BOARDS[0].flatten(), numbers, lambda digit: 16 + digit, sudoku)[1]
            for _ in range(12)]  # fmt: skip
    swapped = [sorted(one.tolist()) == numbers.tolist() for one in kept]
    assert 0 < sum(swapped) < 12


def test_cells_are_counted_under_the_best_renaming():
    torch.manual_seed(4)
    digits, guessed = torch.randint(4, (30,)), torch.randint(4, (30,))
    best = max(
        sum(names[g] == d for g, d in zip(guessed.tolist(), digits.tolist(), strict=True)) / 30
        for names in permutations(range(4))
    )
    assert PAGE.renamed(guessed, digits) == pytest.approx(best)
    assert PAGE.renamed((digits + 1) % 4, digits) == 1


@pytest.mark.parametrize(
    "method", ["exact", "s-product-pairs", "mlp-instead-of-rule", "cell-labels"]
)
def test_a_method_runs(method, data):
    run, *_ = plan(TASK, torch.device("cpu"), methods=[method], parts=["200-boards"], is_quick=True,
                   replaced={"epochs": 1, "boards": 4, "measured": 4, "batch": 4})  # fmt: skip
    found = TASK.train(data, run)
    assert set(found) == set(TASK.measures)
    assert all(0 <= value <= 100 for value in found.values())


@pytest.fixture(scope="module")
def data():
    return TASK.load(True)
