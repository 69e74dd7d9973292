"""When an interrupt is raised, also where Python or a library swallows it."""

import contextlib
import signal
import sys
import weakref

import pytest

from residuum.cli.interrupts import heeding_interrupts


class Mortal:
    pass


def press():
    signal.raise_signal(signal.SIGINT)


def in_a_callback():
    mortal = Mortal()
    reference = weakref.ref(mortal, lambda _: press())
    del mortal
    assert reference() is None


def where_everything_is_caught():
    with contextlib.suppress(BaseException):
        press()


@pytest.fixture(autouse=True)
def _interrupts_are_raised():
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.mark.parametrize("lose", [in_a_callback, where_everything_is_caught])
def test_a_lost_interrupt_is_raised_after_the_item_it_was_lost_in(lose, capsys):
    done = []

    def items():
        for number in range(5):
            if number == 2:
                lose()
            done.append(number)
            yield number

    with pytest.raises(KeyboardInterrupt):
        list(heeding_interrupts(items()))
    assert done == [0, 1, 2]
    assert capsys.readouterr().err == ""


def test_what_happens_between_items_is_not_interrupted_but_the_next_item_is():
    items = heeding_interrupts(range(3))
    assert next(items) == 0
    press()
    with pytest.raises(KeyboardInterrupt):
        next(items)


def test_a_second_interrupt_stops_anything():
    items = heeding_interrupts(range(3))
    assert next(items) == 0
    press()
    with pytest.raises(KeyboardInterrupt):
        press()


def test_an_interrupt_turned_into_an_error_is_an_interrupt():
    def items():
        yield 0
        try:
            press()
        except KeyboardInterrupt:
            raise ImportError("numpy failed to import") from None

    with pytest.raises(KeyboardInterrupt):
        list(heeding_interrupts(items()))


def test_other_errors_are_not_changed():
    def items():
        yield 0
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        list(heeding_interrupts(items()))


def test_handlers_are_restored_afterwards():
    before = signal.getsignal(signal.SIGINT), sys.unraisablehook
    assert list(heeding_interrupts(range(3))) == [0, 1, 2]
    with pytest.raises(KeyboardInterrupt):
        list(heeding_interrupts(press() for _ in range(3)))
    assert (signal.getsignal(signal.SIGINT), sys.unraisablehook) == before


def test_interrupts_that_are_ignored_stay_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert list(heeding_interrupts(press() for _ in range(3))) == [None] * 3
