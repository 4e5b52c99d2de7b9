"""The notices of a run: counted, each once, and those that last until they are fixed."""

from app.session_state.notices import MAX_KEPT, NoticeLog


def test_a_repeated_notice_is_one_with_a_number() -> None:
    log = NoticeLog()
    for _ in range(172):
        log.add("The disk is full.", "warning")
    assert [(one.text, one.times) for one in log.all] == [("The disk is full.", 172)]
    assert log.unseen == 1
    log.mark_seen()
    assert log.unseen == 0
    log.add("The disk is full.", "error")
    assert log.unseen == 1


def test_information_is_listed_but_not_counted() -> None:
    log = NoticeLog()
    log.add("Copied.")
    assert (len(log.all), log.unseen) == (1, 0)


def test_faults_of_settings_last_until_they_are_fixed() -> None:
    log = NoticeLog()
    log.set_lasting(["config.json:2: a", "config.json:9: b", "config.json:2: a"])
    assert (log.lasting, log.unseen) == (("config.json:2: a", "config.json:9: b"), 2)
    log.mark_seen()
    log.set_lasting(["config.json:9: b"])
    assert (log.lasting, log.unseen) == (("config.json:9: b",), 0)


def test_old_notices_are_dropped() -> None:
    log = NoticeLog()
    for number in range(MAX_KEPT + 5):
        log.add(str(number), "warning")
    assert len(log.all) == MAX_KEPT
    assert log.unseen == MAX_KEPT
