// Everything except the opt-in headers: <pawl/json.h> (typed values), <pawl/format.h> (fmt),
// <pawl/compat.h> (names of other engines) and <pawl/testing.h> (the test clock).
//
// To read the headers from the beginning: types.h and error.h (the small types), store.h (open a
// store), message.h and queue.h (queues), workflow.h and run.h (trigger runs, follow them),
// context.h (write a workflow), worker.h (execute), then flow.h, schedule.h, outbox.h, retention.h
// and stats.h as needed. Names in namespace pawl::detail are internal and may change at any time.
//
// Threads: handles (Store, Queue, Run, Worker, Dispatcher) may be used from several threads at the
// same time. Values are like those of the standard library: structs, options, Json, and the
// builders TriggerOf, Flow, FlowHandlers and WorkerBuilder. Several threads may read one object or
// call its const functions; a thread that changes it needs it for itself. Copies are independent.
#pragma once

#include <pawl/context.h>
#include <pawl/discovery.h>
#include <pawl/error.h>
#include <pawl/flow.h>
#include <pawl/log.h>
#include <pawl/message.h>
#include <pawl/outbox.h>
#include <pawl/queue.h>
#include <pawl/retention.h>
#include <pawl/run.h>
#include <pawl/schedule.h>
#include <pawl/stats.h>
#include <pawl/store.h>
#include <pawl/transaction.h>
#include <pawl/types.h>
#include <pawl/version.h>
#include <pawl/worker.h>
#include <pawl/worker_info.h>
#include <pawl/workflow.h>

/// Durable workflows and message queues on SQLite or PostgreSQL.
namespace pawl {}
