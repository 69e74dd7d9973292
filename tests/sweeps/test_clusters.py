"""Runs on a real Ray cluster of two nodes, one of which is killed in the middle."""

import contextlib
import os
import signal
import time
import warnings
from pathlib import Path
from threading import Thread

import pytest

from residuum.results import Store
from residuum.sweeps.clusters import connected, run_all_on_cluster
from waiting_experiment import Number, Waiting, notes

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'residuum[cluster]'")
pytestmark = pytest.mark.filterwarnings("default")  # Ray leaves files and sockets to be collected

TESTS = Path(__file__).parents[1]


@pytest.fixture
def cluster(monkeypatch):
    """A head that works on nothing, and two nodes with one worker each."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        nodes = [one.add_node(num_cpus=1) for _ in range(2)]
        one.wait_for_nodes()
        yield one, nodes
        ray.shutdown()
        one.shutdown()


def test_what_a_dead_node_had_is_trained_elsewhere_and_kept_once(tmp_path, cluster):
    everything, nodes = cluster
    folder = tmp_path / "notes"
    folder.mkdir()
    runs = [Number(seed) for seed in range(8)]
    killed = []

    def kill_a_node_at_work():
        while not killed:
            time.sleep(0.05)
            at_work = {node: process for node, process, what, _ in notes(folder) if what == "began"}
            killed.extend(node for node in nodes[:1] if node.node_id in at_work)
        everything.remove_node(killed[0], allow_graceful=False)
        with contextlib.suppress(ProcessLookupError):  # a machine that dies takes its workers along
            os.kill(int(at_work[killed[0].node_id]), signal.SIGKILL)
        (folder / "go").touch()

    killer = Thread(target=kill_a_node_at_work, daemon=True)
    with connected(everything.address) as device, Store(tmp_path / "runs.sqlite") as store:
        assert device.type == "cpu"
        killer.start()
        over = []
        run_all_on_cluster(Waiting(folder), runs, store, gpus=0, done=over.append, most_together=2)
        kept = {record.configuration["seed"]: record.measures["square"] for record in store}
        again = []
        run_all_on_cluster(Waiting(folder), runs, store, gpus=0, done=again.append)
    killer.join()
    assert kept == {seed: seed**2 for seed in range(8)}
    assert sorted(record.configuration["seed"] for record in over) == list(range(8))
    assert again == []
    found = notes(folder)
    # What the dead node had begun it never ended; another node did, once.
    lost = [
        seeds for node, _, what, seeds in found if what == "began" and node == killed[0].node_id
    ]
    assert lost
    for seeds in lost:
        ended_by = [node for node, _, what, mine in found if (what, mine) == ("ended", seeds)]
        assert len(ended_by) == 1
        assert ended_by[0] != killed[0].node_id
    # Data are read once by each process, not once for each of its stacks.
    reads = [process for _, process, what, _ in found if what == "read"]
    assert len(reads) == len(set(reads))


def test_an_address_where_nobody_answers_is_said():
    from residuum.errors import ResiduumError

    with (
        pytest.raises(ResiduumError, match="--address: no Ray cluster answers at nonsense"),
        connected("nonsense"),
    ):
        pass
