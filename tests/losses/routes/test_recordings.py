"""The cache of recordings: which calls are recorded, and how often."""

import threading

from residuum.losses.routes.cuda_recording import Recordings
from residuum.losses.routes.thresholds import MOST_COUNTED, MOST_RECORDINGS, RECORDED_AT


def test_a_key_is_recorded_when_it_is_called_often_enough():
    recordings = Recordings()
    found = [recordings.find("key", lambda: "recorded") for _ in range(RECORDED_AT + 1)]
    assert found == [None] * (RECORDED_AT - 1) + ["recorded"] * 2


def test_a_recording_that_fails_is_not_tried_again():
    recordings, tried = Recordings(), []

    def fail():
        tried.append(None)
        raise RuntimeError

    assert [recordings.find("key", fail) for _ in range(3 * RECORDED_AT)] == [
        None
    ] * 3 * RECORDED_AT
    assert len(tried) == 1


def test_the_number_of_counted_keys_is_limited():
    recordings = Recordings()
    for key in range(3 * MOST_COUNTED):
        assert recordings.find(key, lambda: "recorded") is None
    assert len(recordings._calls) <= MOST_COUNTED


def test_threads_do_not_wait_while_another_records():
    """Another thread records the first key while this thread calls with many other keys."""
    recordings = Recordings()
    has_begun, may_end = threading.Event(), threading.Event()

    def slowly():
        has_begun.set()
        assert may_end.wait(60)
        return "recorded"

    def meet_often():
        for _ in range(RECORDED_AT):
            recordings.find("slow", slowly)

    other = threading.Thread(target=meet_often)
    other.start()
    assert has_begun.wait(60)
    for key in ("slow", *range(MOST_RECORDINGS)):
        for _ in range(RECORDED_AT):
            assert recordings.find(key, lambda: "recorded meanwhile") is None
    may_end.set()
    other.join()
    assert recordings.find("slow", slowly) == "recorded"
    for key in range(2 * MOST_RECORDINGS):
        for _ in range(RECORDED_AT):
            recordings.find(key, lambda: "recorded later")
    assert len(recordings._kept) == MOST_RECORDINGS
