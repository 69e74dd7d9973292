"""`residuum field`: the tasks by which the field compares itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from residuum.cli.inputs import AsJson
from residuum.cli.outputs import print_json, print_pairs, print_table, say, say_lines
from residuum.cli.study.options import AsMarkdown, Device, StoreFile, check_markdown, seeds_in
from residuum.errors import ResiduumError
from residuum.results import Record, Store, default_store, find_records
from residuum.study.table_format import to_markdown
from residuum.training.devices import find_device

if TYPE_CHECKING:
    from residuum.field import Run, Task, TaskTable
    from residuum.field.running import Split


def field(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A task of --list.")] = None,
    as_list: Annotated[bool, typer.Option("--list", help="Name the tasks, and stop.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="One seed on small or generated data, in a minute.")
    ] = False,
    method: Annotated[
        list[str] | None, typer.Option(help="A method of the task, or several; by default all.")
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(help="A size or data set of the task, or several; by default all."),
    ] = None,
    seeds: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBERS", help="By default 1 to 10, and 101 to 103 to choose."),
    ] = None,
    valid: Annotated[
        bool, typer.Option("--valid", help="Measure on validation data, to choose settings.")
    ] = False,
    replaced: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Replace a setting of the page."),
    ] = None,
    device: Device = "auto",
    store: StoreFile = None,
    table: Annotated[
        bool,
        typer.Option(
            "--table",
            help="Train nothing: print the tables of a task, or of all, from the records in the "
            "store and in results/*.jsonl.",
        ),
    ] = False,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="Train nothing: print one table of all tasks from the records."
        ),
    ] = False,
    markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Train on a task of the field with rules, under each method, and compare.

    Each task is a page of code in examples/field. Runs that are in the store are not run again;
    after Ctrl-C the same command goes on with the run that was stopped.

    \b
    residuum field --list
    residuum field grid-paths --quick
    residuum field grid-paths --method exact --seeds 1,2,3
    residuum field grid-paths --table --markdown
    residuum field --compare
    """
    from residuum.field import find_task

    check_markdown(markdown=markdown, table=table or compare)
    if table or compare:
        if method or part or seeds or replaced:
            raise ResiduumError(
                "--table and --compare read all records; leave out --method, --part, --seeds and "
                "--set"
            )
        if compare and name is not None:
            raise ResiduumError(f"--compare is about all tasks; leave out {name!r}")
    split: Split = "valid" if valid else "test"
    if compare:
        _compare_tasks(store, as_json=as_json, markdown=markdown)
    elif table:
        shown = Shown(split, quick, as_json, markdown)
        _print_known(name, store, shown)
    elif as_list or name is None:
        _list_tasks(as_json=as_json, is_asked=as_list)
    else:
        if replaced and not (valid or quick):
            raise ResiduumError(
                "--set: settings are chosen on validation data; add --valid, or change the page"
            )
        task = find_task(name)
        records = _train(
            task,
            store,
            device=find_device(device),
            methods=_listed(method),
            parts=_listed(part),
            seeds=seeds_in(seeds),
            split=split,
            is_quick=quick,
            replaced=dict(map(_setting, replaced or ())),
        )
        if replaced:
            _print_records(records, as_json=as_json)
        else:
            _print_tables([task], records, Shown(split, quick, as_json, markdown))


class Shown(NamedTuple):
    """Which runs tables show, and in which form."""

    split: Split
    is_quick: bool
    as_json: bool
    as_markdown: bool


def _train(task: Task, path: Path | None, **wanted: Any) -> list[Record]:
    from residuum.field import plan, run_all

    runs: list[Run] = plan(task, wanted.pop("device"), tell=_tell, **wanted)
    with Store(path or default_store()) as opened:
        opened.check_writable()
        known = sum(run.id in opened for run in runs)
        say(f"{len(runs)} runs, {known} of them found in {opened.path}", err=True)
        try:
            return run_all(runs, opened)
        except KeyboardInterrupt:
            kept = sum(run.id in opened for run in runs)
            say(f"stopped: {kept} of {len(runs)} runs are kept; the same command goes on", err=True)
            raise


def _tell(line: str) -> None:
    say(line, err=True)


def _list_tasks(*, as_json: bool, is_asked: bool) -> None:
    from residuum.field import find_tasks

    tasks = find_tasks()
    if as_json:
        print_json([{"name": one.name, "title": one.title, "shows": one.shows} for one in tasks])
    else:
        print_pairs((one.name, f"{one.title}: {one.shows}") for one in tasks)
    if not is_asked:
        say("name one of these: residuum field NAME --quick", err=True)


def _print_known(name: str | None, store: Path | None, shown: Shown) -> None:
    """Print the tables of one task or of all, from records."""
    from residuum.field import find_task, find_tasks, tables_page

    tasks = find_tasks() if name is None else [find_task(name)]
    records = find_records(store, [task.study for task in tasks])
    if name is None and shown.as_markdown:
        say_lines(tables_page(tasks, records))
    else:
        _print_tables(tasks, records, shown)


def _print_tables(tasks: Sequence[Task], records: Sequence[Record], shown: Shown) -> None:
    from residuum.field import tables_of

    tables: list[TaskTable] = [
        table
        for task in tasks
        for table in tables_of(task, records, split=shown.split, is_quick=shown.is_quick)
    ]
    if shown.as_json:
        print_json([table.to_json() for table in tables])
        return
    for table in tables:
        if shown.as_markdown:
            say_lines(to_markdown(table))
        else:
            say(table.title)
            print_table(table.heads, table.lines(""))
    if not tables:
        name = tasks[0].name if len(tasks) == 1 else "NAME"
        others = f" with the settings of the page; {len(records)} others are known" * bool(records)
        say(f"there are no runs{others}; run: residuum field {name}")


def _compare_tasks(store: Path | None, *, as_json: bool, markdown: bool) -> None:
    from residuum.field import compare_tasks, find_tasks

    tasks = find_tasks()
    found = compare_tasks(tasks, find_records(store, [one.study for one in tasks]))
    if as_json:
        print_json(found.to_json())
    elif not found.columns:
        say("no task has runs of two methods yet; run: residuum field NAME")
    elif markdown:
        say_lines(to_markdown(found))
    else:
        print_table(found.heads, found.lines(""))


def _print_records(records: Sequence[Record], *, as_json: bool) -> None:
    """Print runs with settings that are not those of the page, one line each."""
    if as_json:
        print_json(
            [
                {"configuration": dict(one.configuration), "measures": dict(one.measures)}
                for one in records
            ]
        )
        return
    for one in records:
        known = one.configuration
        found = one.diverged or ", ".join(f"{n} {v:.2f}" for n, v in one.measures.items())
        say(f"{known['part']} {known['method']}, seed {known['seed']}: {found}".lstrip())


def _listed(given: list[str] | None) -> list[str]:
    return [part for text in given or () for part in text.split(",")]


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ResiduumError(f"--set: expected NAME=VALUE such as rate=0.01, got {text!r}")
    return name, value
