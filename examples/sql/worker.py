#!/usr/bin/env python3
"""A worker for the workflow `order`, using only SQL (any DB-API driver; here psycopg2).

usage: worker.py URL [SCHEMA]      ends on SIGTERM or SIGINT, after the current run
"""
import json
import os
import select
import signal
import socket
import sys
import threading
import time

import psycopg2

URL, SCHEMA = sys.argv[1], (sys.argv[2:] or ["pawl"])[0]
WORKFLOW, LEASE_MS, HEARTBEAT_S = "order", 30_000, 10


class PermanentError(Exception):
    """A retry cannot succeed."""


class Paused(Exception):
    """The run waits for an answer."""


class LeaseLost(Exception):
    """The run was delivered again or cancelled: this worker must not write it."""


class StepFailed(Exception):
    """A failed step that may be retried."""

    def __init__(self, step, position, attempt, error):
        super().__init__(str(error))
        self.step, self.position, self.attempt = step, position, attempt


class Database:
    def __init__(self):
        self.connection = psycopg2.connect(URL)
        self.connection.autocommit = True  # each call is a transaction
        self.cursor = self.connection.cursor()

    def rows(self, call, *values):
        self.cursor.execute(f'select * from "{SCHEMA}".{call}', values)
        names = [column.name for column in self.cursor.description]
        return [dict(zip(names, row)) for row in self.cursor.fetchall()]

    def write(self, call, *values):
        """A call that returns one outcome per run; it is always called with one run."""
        while (outcome := next(iter(self.rows(call, *values)[0].values()))[0]) == "busy":
            time.sleep(0.01)  # the row is locked, perhaps by the heartbeat of this worker
        if outcome != "done":
            raise LeaseLost(outcome)


class Run:
    """A leased run: its recorded steps, and the operations that write it."""

    def __init__(self, database, claimed, max_attempts):
        self.database, self.max_attempts = database, max_attempts
        self.id, self.delivery = claimed["message_id"], claimed["delivery"]
        self.input = json.loads(claimed["payload"])
        self.attempts = claimed["attempts"]
        self.position = 0
        # The claim returns the recorded steps, unless they are too large: then they are listed.
        if claimed["steps_loaded"]:
            columns = ("step_ids", "step_statuses", "step_attempts", "step_outputs", "step_errors")
            steps = zip(*(claimed[column] or [] for column in columns))
        else:
            listed = database.rows("list_steps(%s)", self.id)
            steps = [(step["step_id"], step["status"], step["attempt"], to_text(step["output"]), to_text(step["error"]))
                     for step in listed]
        self.recorded = {step[0]: step[1:] for step in steps}

    def step(self, name, body):
        """Returns the recorded result, or executes the body and records its result."""
        self.position += 1
        status, attempts, output, error = self.recorded.get(name, (None, 0, None, None))
        if status == "SUCCESS":
            return json.loads(output)
        if status == "ERROR":
            raise PermanentError(json.loads(error)["message"])
        attempt = attempts + 1
        try:
            output = json.dumps(body(attempt))
        except Paused as paused:
            self.database.write(
                "pause(%s, %s, %s, %s, messages => %s)",
                [self.id], [self.delivery], [name], [self.position], [str(paused)])
            raise
        except PermanentError as error:
            self.record(name, attempt, "ERROR", error=describe("permanent", error, name, attempt))
            raise
        except Exception as error:
            if attempt < self.max_attempts:
                raise StepFailed(name, self.position, attempt, error) from error
            self.record(name, attempt, "ERROR", error=describe("transient", error, name, attempt))
            raise PermanentError(str(error)) from error
        self.record(name, attempt, "SUCCESS", output=output)
        return json.loads(output)

    def record(self, name, attempt, status, output=None, error=None):
        self.database.write(
            "record_steps(%s, %s, %s, %s, %s, %s, outputs => %s::text[], errors => %s::text[])",
            [self.id], [self.delivery], [name], [self.position], [status], [attempt], [output], [error])

    def finish(self, output=None, error=None):
        self.database.write(
            "finish_runs(%s, %s, %s::text[], %s::text[])", [self.id], [self.delivery], [output], [error])

    def retry(self, error, step=None, position=None, attempt=None):
        """Retries the run after the workflow's backoff; the first null could be another delay."""
        self.database.write(
            "retry_runs(%s, %s, null, %s::json[], %s::text[], %s::integer[], %s::integer[])",
            [self.id], [self.delivery], [error], [step], [position], [attempt])

    def execute(self, workflow):
        try:
            self.finish(output=json.dumps(workflow(self, self.input)))
        except Paused:
            pass
        except PermanentError as error:
            self.finish(error=describe("permanent", error))
        except StepFailed as why:
            self.retry(describe("transient", why, why.step, why.attempt), why.step, why.position, why.attempt)
        except (LeaseLost, psycopg2.Error):
            raise
        except Exception as error:  # outside the steps
            if self.attempts + 1 < self.max_attempts:
                self.retry(describe("transient", error))
            else:
                self.finish(error=describe("transient", error))


def to_text(value):
    """Converts a json column, which the driver has decoded, to the text that the batch functions take."""
    return None if value is None else json.dumps(value)


def describe(kind, error, step=None, attempt=None):
    fields = {"type": kind, "message": str(error), "step": step, "attempt": attempt}
    return json.dumps({key: value for key, value in fields.items() if value is not None})


class Heartbeat(threading.Thread):
    """Sends heartbeats and extends the lease of the current run, on a separate connection."""

    def __init__(self, worker):
        super().__init__(daemon=True)
        self.worker, self.current_run, self.stopping = worker, None, threading.Event()

    def run(self):
        database = Database()
        while not self.stopping.wait(HEARTBEAT_S):
            database.rows("heartbeat(%s)", self.worker)
            if run := self.current_run:  # a lost lease is detected by the next write of the run
                database.rows("extend(%s, %s, %s)", [run.id], [run.delivery], [LEASE_MS])


def order(run, order):
    """The workflow: a function whose recorded steps are not executed again."""
    if order["count"] <= 0:
        raise PermanentError("count must be positive")
    total = run.step("price", lambda attempt: 12 * order["count"])
    if total > 1000:
        run.step("approve", lambda attempt: wait_for_approval(total))

    def ship(attempt):
        if order.get("carrier") == "asleep" and attempt == 1:
            raise RuntimeError("the carrier does not answer")
        return f"parcel-{run.id}"

    return {"total": total, "parcel": run.step("ship", ship)}


def wait_for_approval(total):
    raise Paused(f"who approves {total}?")  # answered by: select pawl.signal(run_id, 'approve', '"yes"')


def main():
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    database = Database()
    worker = database.rows(
        "register_worker(%s, %s, 0, %s, %s, %s, %s)",
        "python", socket.gethostname(), os.getpid(), LEASE_MS, [WORKFLOW], [WORKFLOW])[0]["register_worker"]
    heartbeat = Heartbeat(worker)
    heartbeat.start()
    settings = database.rows("list_workflows(%s)", WORKFLOW)[0]
    database.cursor.execute(f'listen "pawl_{SCHEMA}"')
    print("ready", flush=True)

    while not stopping.is_set():
        *claimed, about = database.rows(
            "claim_runs(%s::bigint[], 1, lease_ms => %s, worker_id => %s)",
            [settings["workflow_id"]], LEASE_MS, worker)
        if not claimed:  # wait for a NOTIFY or the next due run, at most a second
            seconds = 1.0
            if about["next_due"]:
                seconds = min(seconds, (about["next_due"] - about["now_at"]).total_seconds())
            select.select([database.connection], [], [], max(seconds, 0))
            database.connection.poll()
            database.connection.notifies.clear()
            continue
        run = Run(database, claimed[0], claimed[0]["max_attempts"] or settings["max_attempts"])
        heartbeat.current_run = run
        try:
            run.execute(order)
        except LeaseLost as lost:
            print(f"run {run.id}: {lost}", file=sys.stderr)
        finally:
            heartbeat.current_run = None
    heartbeat.stopping.set()
    heartbeat.join()
    database.rows("stop_worker(%s)", worker)


main()
