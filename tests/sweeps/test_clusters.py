"""Runs on a real Ray cluster of two nodes, one of which is killed in the middle."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

from residuum.errors import DataError, ResiduumError
from residuum.results import Store
from residuum.sweeps import clusters
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
        one = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "num_gpus": 0})
        nodes = [one.add_node(num_cpus=1, num_gpus=0) for _ in range(2)]
        one.wait_for_nodes()
        yield one, nodes
        ray.shutdown()
        one.shutdown()


def test_stacks_of_a_dead_node_are_trained_elsewhere_and_kept_once(tmp_path, cluster):
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
    with (
        pytest.raises(ResiduumError, match="--device cuda: expected a GPU, and this cluster has"),
        connected(everything.address, "cuda"),
    ):
        pass
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


def test_an_address_without_a_cluster_is_refused():
    with (
        pytest.raises(ResiduumError, match="--address: no Ray cluster answers at nonsense"),
        connected("nonsense"),
    ):
        pass


# Kills the raylet that this process has started, as soon as a run has begun. Ray would end the
# process after a while, so that it is not the one of the tests.
RAYLET_DIES = """
import os, signal, sys, time
from pathlib import Path
from threading import Thread

from residuum.errors import ResiduumError
from residuum.results import Store
from residuum.sweeps.clusters import connected, run_all_on_cluster
from waiting_experiment import Number, Waiting, notes

folder = Path(sys.argv[1])

def kill():
    while not any(what == "began" for _, _, what, _ in notes(folder)):
        time.sleep(0.05)
    for path in Path("/proc").glob("[0-9]*/stat"):
        process, name, _, parent = path.read_text().split()[:4]
        if (name, parent) == ("(raylet)", str(os.getpid())):
            os.kill(int(process), signal.SIGKILL)

Thread(target=kill, daemon=True).start()
try:
    with connected(None) as device, Store(folder / "runs.sqlite") as store:
        run_all_on_cluster(Waiting(folder), [Number(1)], store, gpus=0, done=print)
except ResiduumError as error:
    sys.exit(f"IN WORDS: {error}")
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="/proc of Linux")
def test_a_dead_raylet_ends_with_a_message(tmp_path):
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", RAYLET_DIES, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert "IN WORDS: the Ray cluster has failed (ConnectionError: the raylet" in done.stderr
    assert str(tmp_path / "runs.sqlite") in done.stderr


def test_each_process_of_ray_may_be_silent_for_its_own_time(monkeypatch):
    monkeypatch.setattr(clusters, "BETWEEN_CHECKS", 0.02)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # where nobody listens
        alive = clusters._Lifeline("one", *server.getsockname(), 0.0)
        short = clusters._Lifeline("another", *free.getsockname(), 0.1)
        clusters._wait_for([alive, alive])
        start = time.monotonic()
        with pytest.raises(ConnectionError, match=r"another does not answer at 127\.0\.0\.1:"):
            clusters._wait_for([alive, short._replace(name="a third", patience=60.0), short])
        assert 0.1 < time.monotonic() - start < 30
        Thread(target=lambda: (time.sleep(0.1), free.listen())).start()
        clusters._wait_for([short._replace(patience=60.0)])


def failing_with(error, monkeypatch, tmp_path):
    """What is raised when all that is asked of a cluster comes to an exception."""

    def get(_task):
        raise error

    usual = SimpleNamespace(remote=lambda *_: "task")
    monkeypatch.setattr(clusters, "_lifelines", list)
    monkeypatch.setattr(ray, "put", lambda _what: "placed")
    monkeypatch.setattr(ray, "remote", lambda **_: lambda _function: usual)
    monkeypatch.setattr(ray, "wait", lambda tasks, **_: (tasks, []))
    monkeypatch.setattr(ray, "get", get)
    with Store(tmp_path / "runs.sqlite") as store, pytest.raises(Exception) as caught:  # noqa: PT011
        run_all_on_cluster(Waiting(tmp_path), [Number(1)], store, gpus=0, done=print)
    return caught.value


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (lambda: ray.exceptions.WorkerCrashedError(), "nodes with more memory"),
        (lambda: ray.exceptions.OutOfMemoryError("killed\nlong list"), "nodes with more memory"),
        (lambda: ray.exceptions.ObjectStoreFullError("full"), "a larger --object-store-memory"),
        (lambda: ray.exceptions.OutOfDiskError("full"), "disk of the nodes"),
        (lambda: ray.exceptions.NodeDiedError("gone"), "Restart the cluster"),
        (lambda: ray.exceptions.LocalRayletDiedError(), "Restart the cluster"),
        (lambda: ray.exceptions.RaySystemError("gone"), "Restart the cluster"),
        (lambda: ray.exceptions.GetTimeoutError("late"), "Restart the cluster"),
        (lambda: ray.exceptions.ActorDiedError(), "Restart the cluster"),
        (lambda: ConnectionError("gone"), "Restart the cluster"),
    ],
)
def test_an_exception_of_ray_becomes_a_message_with_advice(monkeypatch, tmp_path, error, advice):
    found = failing_with(error(), monkeypatch, tmp_path)
    assert type(found) is ResiduumError
    said = str(found)
    assert said.startswith(f"the Ray cluster has failed ({type(error()).__name__}: ")
    assert advice in said
    assert "same command" in said
    assert said.endswith(str(tmp_path / "runs.sqlite"))
    assert "\n" not in said


def test_errors_of_a_worker_come_without_a_traceback_and_bugs_with_one(monkeypatch, tmp_path):
    def raised_there(cause):
        there = ray.exceptions.RayTaskError("_train", "Traceback …", cause)
        return failing_with(there.as_instanceof_cause(), monkeypatch, tmp_path)

    assert str(raised_there(DataError("the data are missing"))) == "the data are missing"
    assert isinstance(raised_there(ZeroDivisionError("a fault")), ZeroDivisionError)


def test_a_cluster_that_cannot_start_is_reported(monkeypatch):
    def init(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ray, "init", init)
    with (
        pytest.raises(ResiduumError, match=r"Ray cannot start on this machine: .*No space left"),
        connected(None),
    ):
        pass
