"""What programs rely on: output, exit codes, and words instead of tracebacks."""

from __future__ import annotations

import json
import signal
import socket
import stat
import time

from tests.support import engines
from tests.support.scripted_server import ScriptedServer, Step


def test_init_db_prints_how_the_database_is_kept_and_may_be_repeated(magistrate):
    first = magistrate("init-db").stdout
    assert "journal_mode wal" in first and "synchronous full" in first and "foreign_keys on" in first
    assert "created the administrator gly" in first
    assert "created" not in magistrate("init-db").stdout
    assert stat.S_IMODE((magistrate.folder / "platform.db").stat().st_mode) == 0o600


def test_a_demo_run_meets_every_verdict_and_an_execution_error(magistrate):
    magistrate("init-db")
    done = magistrate("run", "--profile", "smoke", "--json")
    *progress, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert last["event"] == "finished" and last["status"] == "completed" and last["simulated"] is True
    assert all(line["event"] == "progress" for line in progress)
    counts = last["verdict_counts"]
    assert min(counts["pass"], counts["fail"], counts["needs_human_review"], counts["judge_format_error"]) >= 1
    assert counts["none"] == 0 and last["error_count"] >= 1 and last["skipped_count"] >= 1
    assert last["completed_count"] + last["error_count"] + last["skipped_count"] == last["total_count"] == 31
    with engines.opened(magistrate.folder, run_worker=False) as engine:
        failed = [r for r in engine.stores.results.stream(last["id"], _everything()) if r.error is not None]
    assert all(result.attempts_history[0].tries == 1 for result in failed), "an error that no retry can mend"


def _everything():
    from engine.domain.runs import ResultFilter

    return ResultFilter()


def test_a_run_against_an_endpoint_given_by_address_keeps_the_key_out_of_the_database(small):
    with ScriptedServer(capable=True) as server:
        done = small(
            *("run", "--profile", "full", "--base-url", server.base_url, "--model", "scripted"),
            *("--api-key-env", "MY_KEY", "--concurrency", "16", "--json"),
            MY_KEY="canary-key-4711",
        )
        finished = json.loads(done.stdout.splitlines()[-1])
        assert finished["completed_count"] == 60
        assert server.chats[0].headers["authorization"] == "Bearer canary-key-4711"
    for file in small.folder.iterdir():
        if file.is_file():
            assert b"canary-key-4711" not in file.read_bytes(), file.name
    assert "canary-key-4711" not in done.stdout + done.stderr


def test_runs_lists_newest_first_and_as_json(small):
    with ScriptedServer(capable=True) as server:
        for _ in range(2):
            small("run", "--profile", "full", "--base-url", server.base_url, "--model", "scripted")
    listed = json.loads(small("runs", "--json").stdout)
    assert [run["id"] for run in listed["items"]] == [2, 1] and listed["total"] == 2
    assert "2 of 2 runs" in small("runs").stdout


def test_export_writes_a_whole_report_or_none(small):
    with ScriptedServer(capable=True) as server:
        small("run", "--profile", "full", "--base-url", server.base_url, "--model", "scripted")
    assert small("export", "--run-id", "1").stdout.strip() == "outputs/run_1_results.md"
    report = (small.folder / "outputs" / "run_1_results.md").read_text(encoding="utf-8")
    assert all(f"## case-{number:05d}" in report for number in range(60))
    assert small("export", "--run-id", "1", "-o", "-").stdout == report
    chosen = small("export", "--run-id", "1", "--verdict", "fail", "-o", "-").stdout
    assert "0 results." in chosen


def test_a_wrong_export_is_exit_2_and_says_what_is_known(small):
    with ScriptedServer(capable=True) as server:
        small("run", "--profile", "full", "--base-url", server.base_url, "--model", "scripted")
    assert "cannot be written" in small("export", "--run-id", "1", "-o", "/proc/no/report.md", code=2).stderr
    assert "known: pass" in small("export", "--run-id", "1", "--verdict", "maybe", code=2).stderr
    assert "known: completed" in small("export", "--run-id", "1", "--execution-status", "x", code=2).stderr
    assert "known: md" in small("export", "--run-id", "1", "--format", "doc", code=2).stderr
    assert "no run 9" in small("export", "--run-id", "9", code=2).stderr


def test_wrong_use_is_exit_2_in_words(small):
    assert "known: full" in small("run", "--profile", "smok", code=2).stderr
    small("run", code=2)
    small("run", "--profile", "full", "--concurrency", "0", code=2)
    both = small("run", "--profile", "full", "--provider", "demo", "--base-url", "http://127.0.0.1:1", code=2)
    assert "not both" in both.stderr
    address = ("--base-url", "http://127.0.0.1:1")
    assert "--model" in small("run", "--profile", "full", *address, code=2).stderr
    assert "demo, ollama, openai" in small("run", "--profile", "full", *address, "--kind", "x", code=2).stderr
    unset = small("run", "--profile", "full", *address, "--model", "m", "--api-key-env", "NOT_SET_4711", code=2)
    assert "NOT_SET_4711" in unset.stderr
    assert "known: demo" in small("run", "--profile", "full", "--provider", "nobody", code=2).stderr
    as_json = small("run", "--profile", "smok", "--json", code=2)
    assert json.loads(as_json.stdout)["code"] == "unknown_profile"
    assert "no run 7" in small("resume", "7", code=2).stderr


def test_an_unreachable_provider_is_exit_3_with_what_to_do(small):
    with ScriptedServer() as gone:
        address = gone.base_url
    said = small("run", "--profile", "full", "--base-url", address, "--model", "m", code=3)
    assert "cannot be reached" in said.stderr


def test_a_refused_key_stops_the_run_and_resume_goes_on_with_the_right_one(small):
    with ScriptedServer(capable=True) as server:
        server.always(Step(status=401, body={"error": {"message": "no"}}))
        refused = small(
            *("run", "--profile", "full", "--base-url", server.base_url, "--model", "m", "--api-key-env", "MY_KEY"),
            code=3,
            MY_KEY="wrong",
        )
        assert "key" in refused.stderr
        server.always(None)
        assert "MY_KEY" in small("resume", "1", code=3).stderr
        done = small("resume", "1", "--json", MY_KEY="right-key-4711")
        assert json.loads(done.stdout.splitlines()[-1])["completed_count"] == 60
        assert server.chats[-1].headers["authorization"] == "Bearer right-key-4711"


def test_ctrl_c_interrupts_the_run_and_keeps_what_is_finished(small):
    with ScriptedServer(capable=True, latency_s=0.2) as server:
        arguments = ("run", "--profile", "full", "--base-url", server.base_url, "--model", "m", "--concurrency", "2")
        with small.start(*arguments) as process:
            _until(lambda: len(server.chats) > 12)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
        assert process.returncode == 130
        run = json.loads(small("runs", "--json").stdout)["items"][0]
        assert run["status"] == "interrupted" and 0 < run["completed_count"] < 60
        done = json.loads(small("resume", "1", "--json").stdout.splitlines()[-1])
        assert done["completed_count"] == 60


def test_sigterm_ends_a_run_cleanly_and_keeps_the_run_resumable(small):
    with ScriptedServer(capable=True, latency_s=1) as server:
        arguments = ("run", "--profile", "full", "--base-url", server.base_url, "--model", "m", "--concurrency", "8")
        with small.start(*arguments) as process:
            _until(lambda: len(server.chats) > 15)
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=30)
        assert process.returncode == 3 and "Traceback" not in err
    assert json.loads(small("runs", "--json").stdout)["items"][0]["status"] == "interrupted"


def test_cancel_from_another_process_is_obeyed_and_said(small):
    with ScriptedServer(capable=True, latency_s=0.7) as server:
        arguments = ("run", "--profile", "full", "--base-url", server.base_url, "--model", "m", "--concurrency", "1")
        with small.start(*arguments, "--json") as process:
            _until(lambda: len(server.chats) > 9)
            busy = small("resume", "1", code=3)
            assert "(run)" in busy.stderr, "says who holds the engine lock"
            assert "asked to end" in small("cancel", "1").stdout
            out, _ = process.communicate(timeout=60)
        assert process.returncode == 3
        assert json.loads(out.splitlines()[-1])["status"] == "cancelled"
    assert "cancelled already" in small("cancel", "1", code=3).stderr


def test_cancel_works_on_a_run_whose_process_is_dead(small):
    with ScriptedServer(capable=True, latency_s=0.5) as server:
        arguments = ("run", "--profile", "full", "--base-url", server.base_url, "--model", "m", "--concurrency", "1")
        with small.start(*arguments) as process:
            _until(lambda: len(server.chats) > 9)
            process.kill()
            process.communicate(timeout=20)
    assert "is cancelled" in small("cancel", "1").stdout


def test_backup_copies_a_database_in_use(small, tmp_path):
    small("backup", tmp_path / "copy.db")
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    listed = small("runs", "--json", DATABASE_URL=f"sqlite:///{tmp_path / 'copy.db'}")
    assert json.loads(listed.stdout)["total"] == 0
    assert small("backup", tmp_path / "no" / "folder" / "x.db", code=2).stderr


def test_migrate_goes_down_and_up_again(small):
    small("migrate", "--down", "1")
    assert "init-db" in small("runs", code=3).stderr or "migrate" in small("runs", code=3).stderr
    assert "journal_mode" in small("migrate").stdout
    small("runs")


def test_a_database_url_that_cannot_be_opened_is_named_with_the_way_out(magistrate, tmp_path):
    folder = tmp_path / "a-folder"
    folder.mkdir()
    assert "a-folder" in magistrate("init-db", code=2, DATABASE_URL=f"sqlite:///{folder}").stderr
    (tmp_path / "text.db").write_text("this is not a database, but some longer text to be sure of it")
    assert "text.db" in magistrate("init-db", code=2, DATABASE_URL=f"sqlite:///{tmp_path / 'text.db'}").stderr
    assert "text to be sure" in (tmp_path / "text.db").read_text()
    assert "SQLite" in magistrate("init-db", code=2, DATABASE_URL="mysql://u:secret-4711@h/db").stderr
    assert "PORT" in magistrate("init-db", code=2, PORT="many").stderr


def test_a_broken_bank_is_exit_2_and_names_file_case_and_key(small):
    dataset = small.folder / "bank" / "dataset.json"
    content = json.loads(dataset.read_text())
    content["cases"][3]["colour"] = "red"
    dataset.write_text(json.dumps(content))
    said = small("run", "--profile", "full", code=2).stderr
    assert "dataset.json" in said and "case-00003" in said and "colour" in said
    dataset.write_text('{"bank": ')
    assert "dataset.json" in small("run", "--profile", "full", code=2).stderr


def test_serve_refuses_a_port_in_use_and_an_open_address_with_the_first_password(magistrate):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = magistrate("serve", code=3, PORT=str(port))
        assert f"port {port}" in said.stderr and "PORT=" in said.stderr
    assert "first password" in magistrate("serve", code=2, HOST="0.0.0.0").stderr


def test_a_second_server_says_that_it_has_no_engine_and_who_has_it(small):
    with engines.opened(small.folder), socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        with small.start("serve", PORT=str(port)) as process:
            said = ""
            while "stop with Ctrl-C" not in said:
                line = process.stdout.readline()
                assert line, "it ended before it served"
                said += line
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=20)
    assert "without an engine" in said and "(test)" in said
    assert process.returncode == -signal.SIGTERM, "told to end as soon as it says so, it ends without a server"


def test_production_refuses_to_start_with_a_weak_secret(magistrate):
    said = magistrate("init-db", code=2, APP_ENV="production", AUTH_TOKEN_SECRET="short").stderr
    assert "AUTH_TOKEN_SECRET" in said and "short" not in said.replace("AUTH_TOKEN_SECRET", "")


def test_serve_writes_a_settings_file_for_its_owner_only(magistrate):
    variables = {name: value for name, value in magistrate.variables.items() if name != "AUTH_TOKEN_SECRET"}
    magistrate.variables = variables
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        first = magistrate("serve", code=3, PORT=port)
        again = magistrate("serve", code=3, PORT=port)
    written = magistrate.folder / ".env"
    assert "wrote .env" in first.stdout and "wrote .env" not in again.stdout
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert "APP_ENV=test" in written.read_text() and "AUTH_TOKEN_SECRET=" in written.read_text()
    written.chmod(0o644)
    assert "chmod 600" in magistrate("init-db").stderr


def test_every_command_has_help(magistrate):
    commands = ["init-db", "migrate", "backup", "serve", "run", "resume", "retry-errors", "judge", "cancel", "runs"]
    for command in [*commands, "export"]:
        assert "Usage" in magistrate(command, "--help").stdout


def _until(condition, patience_s=60.0):
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)
