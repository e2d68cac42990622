// Everything but the JSON adapter (<pawl/json.h>) and the test kit (<pawl/testing.h>).
#pragma once

#include <pawl/context.h>
#include <pawl/discovery.h>
#include <pawl/error.h>
#include <pawl/flow.h>
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
