// Each function adds a group of commands to the tree. main.cpp calls them in the order of the help.
#pragma once

#include "cli/frame/command.h"

namespace pawl::cli {

void add_install_commands(const Command& root);  // install, verify
void add_doctor_command(const Command& root);
void add_queue_commands(const Command& root);
void add_enqueue_command(const Command& root);
void add_dequeue_command(const Command& root);
void add_settle_commands(const Command& root);
void add_message_commands(const Command& root);
void add_archive_commands(const Command& root);
void add_workflow_commands(const Command& root);
void add_flow_commands(const Command& root);
void add_trigger_command(const Command& root);
void add_run_commands(const Command& root);
void add_schedule_commands(const Command& root);
void add_outbox_commands(const Command& root);
void add_retention_commands(const Command& root);  // retention, prune
void add_worker_commands(const Command& root);
void add_tenants_command(const Command& root);
void add_stats_command(const Command& root);
void add_demo_command(const Command& root);
void add_demo_worker_command(const Command& root);  // hidden: pawl demo starts it
void add_completion_command(const Command& root);

}  // namespace pawl::cli
