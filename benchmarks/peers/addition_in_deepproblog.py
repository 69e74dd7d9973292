"""Trains MNIST addition in DeepProbLog: `addition_in_deepproblog.py FILE` prints a line of JSON.

FILE holds images, pairs, sums, TEST and the first values of the network (`benchmarks/addition.py`).
It runs in the environment of other packages, where residuum is not installed.
"""

import json
import sys
import tempfile
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import torch
from torch import nn

warnings.simplefilter("ignore")  # an engine that is not needed here is missing

from deepproblog.dataset import DataLoader, Dataset  # noqa: E402
from deepproblog.engines import ExactEngine  # noqa: E402
from deepproblog.model import Model  # noqa: E402
from deepproblog.network import Network  # noqa: E402
from deepproblog.query import Query  # noqa: E402
from deepproblog.train import train_model  # noqa: E402
from problog.logic import Constant, Term  # noqa: E402

PROGRAM = """
nn(reader, [X], Y, [0,1,2,3,4,5,6,7,8,9]) :: digit(X, Y).
addition(X, Y, Z) :- digit(X, A), digit(Y, B), Z is A + B.
"""


class Images(dict):
    """The images by number, as DeepProbLog asks for them."""

    def __init__(self, images):
        super().__init__()
        self.images = images

    def __getitem__(self, key):
        return self.images[int(key[0])]


class Sums(Dataset):
    """One query for each pair of images and its sum."""

    def __init__(self, pairs, sums):
        self.pairs, self.sums = pairs.tolist(), sums.tolist()

    def __len__(self):
        return len(self.pairs)

    def to_query(self, i):
        shown = {
            Term(name): Term("tensor", Term("train", Constant(image)))
            for name, image in zip("ab", self.pairs[i], strict=True)
        }
        return Query(Term("addition", Term("a"), Term("b"), Constant(self.sums[i])), shown)


def main() -> None:
    torch.set_num_threads(1)
    given = torch.load(sys.argv[1], weights_only=True)
    torch.manual_seed(given["seed"])
    plain = nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(6, 16, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
        nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    plain.load_state_dict(given["start"])
    network = Network(nn.Sequential(plain, nn.Softmax(1)), "reader", batching=True)
    network.optimizer = torch.optim.Adam(plain.parameters(), lr=given["rate"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "addition.pl"
        file.write_text(PROGRAM, encoding="utf-8")
        model = Model(str(file), [network])
    model.set_engine(ExactEngine(model), cache=True)
    model.add_tensor_source("train", Images(given["images"]))
    data = Sums(given["pairs"], given["sums"])
    first = model.solve([data.to_query(i) for i in range(given["compared"])])
    started = time.process_time()
    train_model(model, DataLoader(data, given["batch"], True), given["epochs"], log_iter=10**9)
    seconds = time.process_time() - started
    with torch.no_grad():
        read = plain(given["test"]).argmax(1)
    print(json.dumps({
        "probabilities": [float(next(iter(one.result.values()))) for one in first],
        "seconds": seconds,
        "digit": 100 * float((read == given["labels"]).float().mean()),
        "versions": {name: version(name) for name in ("deepproblog", "problog", "pysdd", "torch")},
    }))  # fmt: skip


main()
