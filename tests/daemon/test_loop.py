"""The daemon's life, played in a world where time passes only when it waits."""

import signal

import pytest

from kg2vault.daemon.diary import BEAT_SECONDS
from kg2vault.errors import ExitCode
from tests.daemon.world import broken, done

SIGTERM = 128 + signal.SIGTERM


def test_it_compares_everything_at_the_start_and_ends_with_the_signal(world):
    ending = world.run(100)
    assert world.times == [0]
    assert world.jobs[0][1].must_sync
    assert ending.code == SIGTERM
    assert world.watcher.stopped == 1


def test_a_commit_is_in_the_vault_after_the_quiet_period(world):
    world.commits(10)
    world.run(100)
    assert world.times == [0, 12]
    assert not world.jobs[1][1].must_sync, "whether rows changed is for the child to find out"


def test_a_process_is_made_ready_in_the_quiet_period_and_let_go_when_it_is_not_needed(world):
    world.commits(10, 11)
    world.at(30, lambda: world.hint("config"))
    world.run(100)
    assert world.times == [0, 13]
    assert [when for when, what in world.readiness if what == "warm"] == [10, 11, 30]
    assert world.readiness[-2:] == [(32, "cool"), (100, "cool")]


def test_no_process_is_made_ready_while_a_fault_is_waited_out(world):
    world.answers = [broken(ExitCode.SOURCE)] * 4 + [done()]
    world.commits(5)
    world.run(100)
    assert [what for _, what in world.readiness if what == "warm"] == []


def test_a_burst_of_commits_is_one_sync(world):
    world.commits(10, 10.5, 11, 12.9)
    world.run(100)
    assert world.times == [0, 14.9]


def test_a_steady_stream_of_commits_is_synced_every_longest_delay(world):
    world.commits(*(10 + tenth / 10 for tenth in range(1000)))
    world.run(109.9)
    assert world.times == pytest.approx([0, 40, 70, 100], abs=0.2)


def test_the_waits_can_be_set(world):
    world.config.write_text(world.config.read_text() + "watch:\n  quiet_seconds: 0.5\n  max_delay_seconds: 5\n")
    world.commits(10, *(20 + tenth / 10 for tenth in range(80)))
    world.run(100)
    assert world.times[:2] == [0, 10.5]
    assert world.times[2] == pytest.approx(25, abs=0.2)


def test_a_commit_during_a_sync_means_exactly_one_more(world):
    world.commits(10)
    world.seconds = 5
    world.commits(13, 14, 16)
    world.run(200)
    assert world.times == [0, 12, 18]


def test_a_commit_long_before_the_end_of_a_sync_does_not_have_to_settle_once_more(world):
    world.commits(10)
    world.seconds = 20
    world.commits(13)
    world.run(200)
    assert world.times == [0, 20]


def test_an_event_without_a_change_of_the_files_starts_nothing(world):
    world.at(10, lambda: world.hint("db"))
    world.at(20, lambda: world.hint("db"))
    world.run(300)
    assert world.times == [0]


def test_a_change_that_gives_no_event_is_found_by_the_poll(world):
    world.commits(70, silent=True)
    world.run(300)
    assert world.times == [0, 122]


def test_polling_asks_for_no_events_and_says_so(world):
    world.commits(70)
    world.run(300, polling=True)
    assert world.watcher.polling
    assert world.times == [0, 122]
    assert world.state.mode == "polling"
    assert world.state.unwatched == []


def test_a_folder_that_gives_no_events_is_said_to_be_polled(world):
    daemon = world.make()
    world.watcher.deaf = True
    world.at(100, lambda: daemon.ask_to_stop(signal.SIGTERM))
    daemon.run()
    assert world.state.mode == "polling"
    assert "db" in world.state.unwatched


def test_folders_that_came_back_are_watched_again_at_every_poll(world):
    world.run(185)
    assert world.watcher.renewed == 3


@pytest.mark.parametrize("stands_still", [True, False])
def test_waking_from_sleep_compares_everything(world, stands_still):
    def sleep():
        if stands_still:
            world.wall_ahead += 8 * 3600
        else:
            world.time += 8 * 3600

    world.at(30, sleep)
    world.run(8 * 3600 + 300)
    assert len(world.jobs) == 2
    assert world.jobs[1][1].must_sync
    assert world.times[1] <= (60 if stands_still else 8 * 3600 + 60)


def test_ending_between_a_commit_and_its_sync_loses_nothing_because_the_next_start_compares(world):
    world.commits(10)
    world.run(10.5)
    assert world.times == [0]
    world.run(world.time + 10)
    assert len(world.jobs) == 2
    assert world.jobs[1][1].must_sync


def test_notes_somebody_was_writing_are_tried_again_when_they_have_settled(world):
    world.answers = [done(skipped=1), done(skipped=1), done()]
    world.run(100)
    assert world.times == [0, 3.5, 10]
    assert all(job.must_sync for _, job in world.jobs)


def test_a_note_that_failed_is_named_once_and_tried_again(world):
    problem = {"code": "failed", "message": "Concepts/web.md: No space left on device", "path": "Concepts/web.md", "hint": None}
    world.answers = [done(failed=1, problems=[problem]) for _ in range(8)] + [done()]
    world.run(4000)
    assert len(world.jobs) == 9
    assert sum("web.md" in line for line in world.lines) == 2
    assert [line for line in world.lines if "web.md" in line][1].startswith("Over after 7 more times")


@pytest.mark.parametrize("code", [ExitCode.SOURCE, ExitCode.VAULT, ExitCode.REFUSED, ExitCode.LOCKED, ExitCode.BUG])
def test_a_fault_is_retried_ever_less_often_told_in_the_state_and_forgotten_when_it_goes(world, code):
    world.answers = [broken(code)] * 6 + [done()]
    seen = []
    world.at(50, lambda: seen.append(world.state))
    world.run(1000)
    assert world.times == [0, 2.5, 7, 15.5, 32, 64.5, 129]
    assert seen[0].fault["message"] == "It is not there."
    assert seen[0].fault["tries"] == 5
    assert seen[0].fault["since"] < seen[0].beat
    assert world.state.fault == {}
    assert world.state.last_success > seen[0].beat


def test_a_repeated_fault_is_one_line_in_the_log(world):
    world.answers = [broken(ExitCode.VAULT)] * 60 + [done()]
    world.run(3500)
    assert len(world.jobs) > 30
    assert sum("It is not there" in line for line in world.lines) == 1


def test_a_fault_that_lasts_is_written_once_an_hour(world):
    world.answers = [broken(ExitCode.VAULT)] * 10_000
    world.run(2.5 * 3600)
    assert len(world.jobs) > 70
    lines = [line for line in world.lines if "It is not there" in line]
    assert len(lines) == 3
    assert "(30 times in the last hour)" in lines[-1]


def test_a_commit_during_a_fault_is_a_reason_to_try_at_once(world):
    world.answers = [broken(ExitCode.SOURCE)] * 6 + [done()]
    world.commits(70)
    world.run(1000)
    assert world.times[-1] == 72


def test_a_damaged_manifest_ends_it_because_only_a_person_can_mend_that(world):
    world.answers = [broken(ExitCode.MANIFEST, "The manifest is damaged.", "manifest")]
    ending = world.run(100)
    assert ending.code == ExitCode.MANIFEST
    assert world.state.fault["message"] == "The manifest is damaged."
    assert world.state.stopped
    assert world.state.exit_code == ExitCode.MANIFEST


def test_a_vault_that_is_not_there_costs_no_process_and_is_synced_when_it_comes(world):
    away = world.folder / "elsewhere"
    world.vault.rename(away)
    states = []
    world.at(200, lambda: states.append(world.state))
    world.at(201, lambda: away.rename(world.vault))
    world.run(600)
    assert states[0].fault["code"] == "vault"
    assert str(world.vault) in states[0].fault["message"]
    assert len(world.jobs) == 1
    assert 201 < world.times[0] < 201 + 120 * 1.2 + 1
    assert world.state.fault == {}


def test_a_database_that_is_not_there_yet_is_waited_for_in_its_folder(world):
    world.db.unlink()

    def appear():
        world.db.touch()
        world.commit()

    world.at(400, appear)
    world.run(1000)
    assert world.watcher.files["db"] == world.db
    assert world.times == [402]


def test_an_observer_that_died_is_started_again_and_nothing_is_missed(world):
    def die():
        world.watcher.living = False
        world.commit(silent=True)

    world.at(10, die)
    world.at(10.1, lambda: world.watcher.wake("aliases"))
    world.run(100)
    assert world.watcher.restarts == 1
    assert world.times[1] == pytest.approx(12.1, abs=0.2)
    assert world.state.observer_restarts == 1


def test_an_observer_that_keeps_dying_ends_the_process_so_that_the_service_starts_afresh(world):
    def die():
        world.watcher.living = False
        world.watcher.hints.append("db")

    for when in range(10, 100, 10):
        world.at(when, die)
    ending = world.run(200)
    assert ending.code not in (0, SIGTERM)
    assert world.watcher.restarts == 5
    assert "observer" in world.state.fault["message"]
    assert world.time < 100


def test_an_observer_that_dies_now_and_then_is_no_reason_to_end(world):
    def die():
        world.watcher.living = False
        world.watcher.hints.append("db")

    for number in range(1, 20):
        world.at(number * 1200, die)
    assert world.run(20 * 1200).code == SIGTERM
    assert world.watcher.restarts == 19


def test_changed_settings_take_effect_without_a_restart(world):
    def change():
        world.config.write_text(world.config.read_text() + "graph:\n  min_items: 3\nwatch:\n  quiet_seconds: 7\n")
        world.hint("config")

    world.at(10, change)
    world.commits(50)
    world.run(100)
    assert world.times == [0, 12, 57]
    assert world.jobs[1][1].must_sync
    assert world.jobs[1][1].settings.config.graph.min_items == 3


def test_a_changed_alias_table_is_what_the_next_sync_is_given(world):
    def change():
        (world.folder / "aliases.yaml").write_text("aliases:\n  zz: machine-learning\n")
        world.hint("aliases")

    world.at(10, change)
    world.run(100)
    assert world.times == [0, 12]
    assert "zz: machine-learning" in world.jobs[1][1].settings.alias_text()[0]
    assert "zz: machine-learning" not in world.jobs[0][1].settings.alias_text()[0]


@pytest.mark.parametrize("file", ["config", "aliases"])
def test_broken_settings_are_reported_and_the_last_good_ones_stay_in_force(world, file):
    path = world.folder / f"{file}.yaml"
    good = path.read_text() if path.exists() else "aliases:\n  ml: machine-learning\n"
    path.write_text(good)
    states = []

    def write(text):
        path.write_text(text)
        world.hint(file)

    world.at(10, lambda: write("aliases: [broken\n"))
    world.commits(20)
    world.at(30, lambda: states.append(world.state))
    world.at(40, lambda: write(good))
    world.run(100)
    assert world.times == [0, 22]
    assert world.jobs[1][1].settings == world.jobs[0][1].settings
    assert str(path) in states[0].settings_fault["message"]
    assert any(f"{file}.yaml" in line and ". The settings from before stay in force." in line for line in world.lines)
    assert world.state.settings_fault == {}


def test_settings_changed_without_an_event_are_found_by_the_poll(world):
    world.at(10, lambda: world.config.write_text(world.config.read_text() + "graph:\n  min_items: 3\n"))
    world.run(100)
    assert world.times == [0, 62]


def test_touching_the_settings_changes_nothing(world):
    world.at(10, lambda: (world.config.touch(), world.hint("config")))
    world.run(100)
    assert world.times == [0]


def test_switching_to_polling_exchanges_the_watcher(world):
    def change():
        world.config.write_text(world.config.read_text() + "watch:\n  polling: true\n  poll_seconds: 20\n")
        world.hint("config")

    world.at(10, change)
    world.commits(105)
    world.run(200)
    assert [watcher.polling for watcher in world.watchers] == [False, True]
    assert world.watchers[0].stopped == 1
    assert world.times[-1] == 122


def test_another_database_is_watched_when_the_settings_name_one(world):
    def change():
        (world.folder / "other.db").touch()
        world.config.write_text(world.config.read_text().replace("hermes.db", "other.db"))
        world.hint("config")

    world.at(10, change)
    world.run(100)
    assert [watcher.files["db"].name for watcher in world.watchers] == ["hermes.db", "other.db"]
    assert world.times == [0, 12]


def test_another_vault_is_another_daemon(world):
    def change():
        (world.folder / "vault2").mkdir()
        world.config.write_text(world.config.read_text().replace("path: vault", "path: vault2"))
        world.hint("config")

    world.at(10, change)
    ending = world.run(100)
    assert ending.again
    assert world.times == [0]


def test_a_request_to_reload_compares_everything_at_once(world):
    world.at(10, lambda: world.hint("reload"))
    world.run(100)
    assert world.times == [0, 10]
    assert world.jobs[1][1].must_sync


def test_a_request_to_reload_during_a_sync_is_not_lost(world):
    world.seconds = 5
    world.at(2, lambda: world.hint("reload"))
    world.run(100)
    assert world.times == [0, 5]
    assert world.jobs[1][1].must_sync


def test_a_signal_during_a_sync_ends_it_afterwards(world):
    world.seconds = 10
    world.commits(20)
    ending = world.run(25)
    assert ending.code == SIGTERM
    assert world.time == 32
    assert world.state.stopped


def test_a_sync_that_was_asked_to_stop_is_no_fault_and_no_success(world):
    problem = {"code": "stopped", "message": "asked to stop", "path": None, "hint": None}
    world.answers = [done(), done(problems=[problem])]
    world.commits(20)
    world.seconds = 10
    world.run(25)
    assert world.state.fault == {}
    assert world.state.syncs == 1


def test_an_upgrade_beneath_it_makes_it_begin_anew(world):
    world.answers = [done(), done(version="99.0")]
    world.commits(10)
    ending = world.run(100)
    assert ending.upgraded
    assert world.times == [0, 12]


def test_idle_it_writes_its_state_only_as_a_sign_of_life(world):
    written = []
    daemon = world.make()
    file = world.diary._file
    save = file.save
    file.save = lambda state: (written.append(world.time), save(state))[1]
    world.at(1200, lambda: daemon.ask_to_stop(signal.SIGTERM))
    daemon.run()
    idle = [when for when in written if 1 < when < 1200]
    assert 3 <= len(idle) <= 1200 / BEAT_SECONDS
    assert world.times == [0]


def test_a_sync_that_lasts_gives_signs_of_life(world):
    world.seconds = BEAT_SECONDS * 3
    beats = []
    world.at(BEAT_SECONDS * 3 + 1, lambda: beats.append(world.state))
    world.run(BEAT_SECONDS * 4)
    assert beats[0].syncing_since == ""
    assert beats[0].beat > beats[0].started


def test_a_look_that_found_nothing_new_is_counted_apart(world):
    world.answers = [done(), done(ran=False)]
    world.commits(10)
    world.run(100)
    assert (world.state.syncs, world.state.looks) == (1, 1)
