"""Workers: limits of time, of waiting, and what an answer in words is for every mistake."""

import asyncio
import json
import subprocess
import sys
from textwrap import indent
from unittest import mock

import pytest

from residuum.explorer import limits, memory, tasks, worker, workers
from residuum.explorer.tasks import TASKS, Task

COMMAND = workers.COMMAND


def answers(name, *given):
    """Return the lines of one answer for each request, all asked at the same time."""

    async def ask(crew):
        return await asyncio.gather(*(all_lines(crew, name, one) for one in given))

    return with_workers(ask)


def with_workers(ask):
    """Return what `ask` makes of workers, which have ended afterwards."""
    start, started = workers._start, []

    async def start_and_remember():
        started.append(await start())
        return started[-1]

    async def run():
        crew = workers.Workers()
        try:
            return await ask(crew)
        finally:
            crew.stop()
            for one in started:
                await one.communicate()

    with mock.patch.object(workers, "_start", start_and_remember):
        return asyncio.run(run())


async def all_lines(crew, name, given):
    return [json.loads(line) async for line in crew.answer(name, json.dumps(given).encode())]


def test_late_work_is_stopped_and_the_next_request_is_answered(monkeypatch):
    late = TASKS["formula"]._replace(seconds=0.0)
    monkeypatch.setitem(TASKS, "formula", late)
    ((refused,),) = answers("formula", {"text": "P"})
    assert refused["refused"].startswith("expected an answer within 0 seconds")
    monkeypatch.setitem(TASKS, "formula", late._replace(seconds=60))
    (found,) = answers("formula", {"text": "P"})
    assert found[-1] == {"done": True}


def test_more_requests_than_may_wait_are_refused(monkeypatch):
    monkeypatch.setattr(workers, "MOST_WAITING", 3)
    found = answers("formula", *({"text": f"P{number}"} for number in range(10)))
    refused = [lines for lines in found if "refused" in lines[0]]
    assert len(refused) == 10 - 3 - tasks.WORKERS["formulas"]
    assert all(lines[-1] == {"done": True} for lines in found if lines not in refused)


def answers_by_a_worker_that(does, monkeypatch):
    """Return the answers to two requests, by workers that run `does` for the first of them."""
    code = (
        "import residuum.explorer.formulas, residuum.explorer.worker\n"
        f"def work(_):\n{indent(does, '    ')}\n"
        "residuum.explorer.formulas.read_formula = work\n"
        "residuum.explorer.worker.main()"
    )
    monkeypatch.setattr(workers, "COMMAND", (sys.executable, "-P", "-c", code))

    async def ask(crew):
        ill = await all_lines(crew, "formula", {})
        monkeypatch.setattr(workers, "COMMAND", COMMAND)
        return ill, await all_lines(crew, "formula", {"text": "P"})

    return with_workers(ask)


@pytest.mark.parametrize(("set_by_the_user", "threads"), [(None, "1"), ("3", "3")])
def test_a_worker_has_one_thread_unless_the_user_says_otherwise(
    set_by_the_user, threads, monkeypatch
):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if set_by_the_user:
        monkeypatch.setenv("OMP_NUM_THREADS", set_by_the_user)
    found, _ = answers_by_a_worker_that(
        "import os; return {'threads': os.environ.get('OMP_NUM_THREADS')}", monkeypatch
    )
    assert found[0] == {"part": {"threads": threads}}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to the limit of memory")
def test_a_task_that_takes_too_much_memory_is_ended_in_words(monkeypatch):
    never_touched = "import numpy; return len([numpy.empty(2**26, 'u1') for _ in range(1000)])"
    (refused,), following = answers_by_a_worker_that(never_touched, monkeypatch)
    most = memory.memory_of_a_worker(sum(tasks.WORKERS.values())) / 2**30
    assert refused["refused"].startswith(f"expected work that needs at most {most:.1f} GiB")
    assert following[-1] == {"done": True}  # by a new worker


def test_torch_says_in_one_way_that_memory_is_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as refusal:
        torch.empty(2**56, dtype=torch.uint8)
    assert memory.lacks_memory(refusal.value)


def test_a_worker_that_ends_by_itself_is_told_of_and_replaced(monkeypatch):
    (refused,), following = answers_by_a_worker_that("import os; os._exit(3)", monkeypatch)
    assert "the worker ended" in refused["refused"]
    assert following[-1] == {"done": True}


def test_all_workers_fit_into_the_machine_together():
    assert memory.memory_of_a_worker(1) <= limits.MOST_MEMORY
    assert memory.memory_of_a_worker(10**9) == limits.LEAST_MEMORY
    shares = [memory.memory_of_a_worker(workers) for workers in range(1, 100)]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_refuses_a_request_without_fields_in_words(name):
    *_, last = (json.loads(line[1:]) for line in worker.answer(name, b"{}"))
    assert last == {"done": True} or last["refused"].startswith(("text: ", "seed: "))


def test_defects_and_missing_libraries_are_told_in_words(monkeypatch):
    def told(error):
        def fail(_):
            raise error

        monkeypatch.setattr("residuum.explorer.relaxations.list_relaxations", fail)
        (line,) = worker.answer("start", b"{}")
        return json.loads(line[1:])["refused"]

    assert told(ZeroDivisionError("x")) == "internal error: ZeroDivisionError: x"
    assert told(RuntimeError("x")) == "internal error: RuntimeError: x"
    assert "GiB of memory" in told(MemoryError())
    assert "GiB of memory" in told(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    missing = ModuleNotFoundError("No module named 'torch'", name="torch")
    assert told(missing).endswith("run: pip install 'residuum[learn]'")


def test_text_from_outside_is_made_visible_before_it_is_shown():
    given = {"text": 'P("a\N{RIGHT-TO-LEFT OVERRIDE}b")'}
    (line, _) = worker.answer("formula", json.dumps(given).encode())
    assert json.loads(line[1:])["part"]["unicode"] == r'P("a\u202eb")'


def test_the_table_names_functions_that_exist():
    for task in TASKS.values():
        assert isinstance(task, Task)
        module = __import__(f"residuum.explorer.{task.module}", fromlist=[task.function])
        assert callable(getattr(module, task.function))


def test_formulas_and_the_text_of_rules_need_no_torch():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from residuum.explorer.worker import answer\n"
        'rules = b\'{"text": "predicate P rule a: P"}\'\n'
        'point = b\'{"text": "P", "degrees": [0.5], "relaxations": ["s-godel"],\''
        'b\'"shown": "s-godel", "x": 0, "y": 0, "seconds": 1}\'\n'
        "for name in ('start', 'formula', 'degrees', 'surfaces', 'consistency'):\n"
        "    print([*answer(name, point)][-1])\n"
        "for name in ('rules', 'check', 'predictions', 'advice', 'sample', 'training'):\n"
        "    print([*answer(name, rules)][-1])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    lines = found.stdout.splitlines()
    assert [line for line in lines[:7] if "done" not in line] == []
    assert len(lines) == 11
    assert all("residuum[learn]" in line for line in lines[7:])
