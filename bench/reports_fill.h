// Fills a store for the benchmark `reports`: 25 workflows (wf1 to wf25) with runs in every status,
// 200 queues (q1 to q200, the last 20 empty) with live and archived messages, stopped workers.
#pragma once

#include <string>

namespace bench {

void fill_postgres_reports(const std::string& url, const std::string& schema, int runs);
void fill_sqlite_reports(const std::string& file, int runs);

}  // namespace bench
