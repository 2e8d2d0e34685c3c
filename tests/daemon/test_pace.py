"""Every timing rule, as arithmetic."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2vault.daemon.pace import FIRST_RETRY, LONGEST_RETRY, LONGEST_SETTLE, Pace, Pacer

EVEN = 0.5  # the random number that makes a wait neither longer nor shorter


def pacer(pace=None, chance=EVEN):
    return Pacer(pace or Pace(quiet=2, max_delay=30, poll=60, settle=3), 0.0, 1000.0, lambda: chance)


def ended(made, now=0.0):
    """A pacer whose last sync is done."""
    made.begin()
    made.succeeded(now, skipped=False)
    return made


def test_nothing_is_due_without_a_reason():
    made = pacer()
    assert not made.due(1e9)
    assert made.next_time(0) == 60


def test_a_demand_is_due_at_once_and_wants_a_look_at_everything():
    made = pacer()
    made.demand()
    assert made.due(0)
    assert made.next_time(0) == 0
    assert made.must_look


def test_a_hint_is_due_after_the_quiet_period_and_does_not_force_a_sync():
    made = ended(pacer())
    made.hint(10)
    assert not made.due(11.9)
    assert made.next_time(10) == 2
    assert made.due(12)
    assert not made.must_look


def test_every_further_hint_begins_the_quiet_period_anew():
    made = ended(pacer())
    for now in (10, 11, 12.5):
        made.hint(now)
    assert not made.due(14.4)
    assert made.due(14.5)


def test_a_stream_of_hints_cannot_put_a_sync_off_for_longer_than_the_longest_delay():
    made = ended(pacer())
    now = 10.0
    while not made.due(now):
        made.hint(now)
        now += 0.1
    assert now == pytest.approx(40, abs=0.2)


def test_what_happened_during_a_sync_counts_from_its_start():
    made = pacer()
    made.begin()
    made.hint(50, since=10)
    made.succeeded(50, skipped=False)
    assert made.due(50), "40 seconds since the sync began are longer than the longest delay"


def test_a_hint_during_a_sync_outlives_its_success():
    made = pacer()
    made.begin()
    made.hint(5, since=4)
    made.succeeded(5, skipped=False)
    assert not made.due(6.9)
    assert made.due(7)


def test_skipped_notes_are_tried_again_when_they_have_settled_and_force_a_sync():
    made = pacer()
    made.begin()
    made.succeeded(10, skipped=True)
    assert made.next_time(10) == 3
    assert made.due(13)
    assert made.must_look


def test_notes_that_stay_skipped_are_tried_less_and_less_often_up_to_ten_minutes():
    made, waits = pacer(), []
    for _ in range(12):
        made.begin()
        made.succeeded(0, skipped=True)
        waits.append(next(now for now in range(1000) if made.due(now)))
    assert waits[:4] == [3, 6, 12, 24]
    assert waits[-1] == LONGEST_SETTLE
    made.succeeded(0, skipped=False)
    assert not made.due(1e9)
    made.succeeded(0, skipped=True)
    assert made.due(3)


def test_a_note_is_never_tried_again_without_a_pause_even_if_nothing_has_to_settle():
    made = pacer(Pace(quiet=0, max_delay=0, poll=60, settle=0))
    made.begin()
    made.succeeded(0, skipped=True)
    assert not made.due(0.9)


def test_failures_are_retried_with_doubling_waits_up_to_a_cap():
    made, waits = pacer(), []
    for _ in range(9):
        made.begin()
        waits.append(made.failed(0))
    assert waits == [2, 4, 8, 16, 32, 64, 120, 120, 120]
    assert made.tries == 9
    assert made.must_look


@pytest.mark.parametrize(("chance", "factor"), [(0.0, 0.8), (0.5, 1.0), (1.0, 1.2)])
def test_a_wait_is_jittered_by_a_fifth(chance, factor):
    assert pacer(chance=chance).failed(0) == pytest.approx(FIRST_RETRY * factor)


def test_a_thousand_failures_do_not_overflow():
    made = pacer()
    for _ in range(1000):
        wait = made.failed(0)
    assert wait == LONGEST_RETRY


def test_a_hint_brings_the_next_attempt_forward_but_never_hammers():
    made = pacer()
    for _ in range(7):
        made.failed(100)
    made.hint(100.5)
    assert not made.due(101.9)
    assert made.due(102.5)
    made.begin()
    made.failed(102.5)
    for tenth in range(1, 19):
        made.hint(102.5 + tenth / 10)
        assert not made.due(102.5 + tenth / 10)


def test_a_success_ends_the_retrying_and_the_waits_begin_small_again():
    made = pacer()
    for _ in range(5):
        made.failed(0)
    ended(made, 10)
    assert made.tries == 0
    assert not made.due(1e6)
    assert made.failed(20) == FIRST_RETRY


def test_the_poll_comes_round_and_a_late_one_is_not_made_up_for():
    made = pacer()
    assert not made.poll_due(59.9)
    assert made.poll_due(60)
    assert not made.poll_due(60)
    assert made.poll_due(500)
    assert not made.poll_due(559)
    assert made.next_time(500) == 60


def test_sleep_shows_as_a_jump_of_the_time_of_day_where_the_clock_stands_still():
    made = pacer()
    assert not made.slept(60, 1060, 0, 60)
    assert made.slept(61, 1061 + 8 * 3600, 60, 60)
    assert not made.slept(120, 1120 + 8 * 3600, 61, 60)


def test_sleep_shows_as_a_wait_that_took_too_long_where_the_clock_goes_on():
    made = pacer()
    assert made.slept(8 * 3600, 1000 + 8 * 3600, 0, 60)


def test_a_long_sync_and_a_corrected_clock_are_not_taken_for_sleep():
    made = pacer()
    assert not made.slept(600, 1600 + 2, 540, 60)


@given(st.lists(st.tuples(st.floats(0, 5), st.sampled_from(["hint", "ok", "skipped", "failed", "demand"])), max_size=60))
@settings(max_examples=200)
def test_whatever_happens_something_is_due_again_and_no_hint_waits_longer_than_it_may(steps):
    made, now, waiting_since = pacer(chance=1.0), 0.0, None
    for pause, what in steps:
        now += pause
        if what == "hint":
            made.hint(now)
            waiting_since = now if waiting_since is None else waiting_since
        elif what == "demand":
            made.demand()
        else:
            made.begin()
            waiting_since = None
            made.failed(now) if what == "failed" else made.succeeded(now, skipped=what == "skipped")
        assert 0 <= made.next_time(now) <= 60
        if waiting_since is not None:
            longest = max(waiting_since + 30, now + FIRST_RETRY) if made.tries else waiting_since + 30
            assert made.due(longest)
        if made.tries:
            assert made.due(now + LONGEST_RETRY * 1.2)
