#include "model/schedule.h"

#include <fmt/format.h>
#include <pawl/schedule.h>
#include <pawl/store.h>

#include "engine/open_store.h"
#include "engine/reconnect.h"
#include "model/texts.h"
#include "seam/backend.h"

namespace pawl::inline v0 {

using engine::retrying;
using seam::StoredSchedule;

namespace {

constexpr int most_fire_times = 10'000'000;

[[noreturn]] void refuse_unknown(const std::string& name) {
    throw Error(ErrorCode::schedule_not_found, fmt::format(model::texts::schedule_missing, name));
}

std::optional<StoredSchedule> find(seam::Backend& backend, const std::string& name) {
    auto found = retrying(backend, [&] { return backend.schedules(name); });
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

StoredSchedule require(seam::Backend& backend, const std::string& name) {
    auto found = find(backend, name);
    if (!found) refuse_unknown(name);
    return std::move(*found);
}

// Reads, changes and saves the schedule, and starts over if a scheduler or another caller changed
// it in between. So a lost answer to an earlier save does no harm either.
template <class Read, class Change>
ScheduleInfo change(seam::Backend& backend, Read read, Change apply) {
    while (true) {
        StoredSchedule schedule = read();
        if (!apply(schedule)) return schedule.info;
        if (retrying(backend, [&] { return backend.save_schedule(schedule); }))
            return require(backend, schedule.info.name).info;
    }
}

enum class Pausing { pause, resume };

void set_paused(seam::Backend& backend, const std::string& name, Pausing pausing) {
    const bool paused = pausing == Pausing::pause;
    change(
        backend,
        [&] { return require(backend, name); },
        [&](StoredSchedule& schedule) {
            ScheduleInfo& info = schedule.info;
            if (info.paused == paused) return false;
            info.paused = paused;
            info.waiting_fire_at.reset();
            info.next_fire_at.reset();
            if (!paused)
                info.next_fire_at =
                    model::next_fire(info, retrying(backend, [&] { return backend.now(); }));
            return true;
        }
    );
}

}  // namespace

std::vector<Timestamp> next_fire_times(
    std::string_view cron, std::string_view time_zone, Timestamp after, int count
) {
    ScheduleInfo schedule;
    schedule.cron = cron;
    schedule.time_zone = time_zone;
    return next_fire_times(schedule, after, count);
}

std::vector<Timestamp> next_fire_times(const ScheduleInfo& schedule, Timestamp after, int count) {
    if (count < 0 || count > most_fire_times)
        throw Error(
            ErrorCode::invalid_argument, fmt::format("count must be 0 to {}", most_fire_times)
        );
    return model::next_fires(schedule, after, static_cast<std::size_t>(count));
}

ScheduleInfo Store::create_schedule(
    std::string_view schedule_name,
    std::string_view workflow,
    std::string_view cron,
    const Json& params,
    const ScheduleOptions& options
) const {
    const std::string name(schedule_name);
    seam::Backend& backend = *store_->backend();
    const auto read = [&] {
        if (auto stored = find(backend, name)) return std::move(*stored);
        StoredSchedule added;
        added.info.name = name;
        added.info.time_zone = "UTC";
        return added;
    };
    return change(backend, read, [&](StoredSchedule& schedule) {
        const ScheduleInfo before = schedule.info;
        ScheduleInfo& info = schedule.info = model::changed_by(before, options);
        info.workflow = workflow;
        info.cron = cron;
        info.params = params;
        model::check_schedule(info, backend.options().max_payload_bytes);
        if (info.overlap != Overlap::queue_one) info.waiting_fire_at.reset();
        // The next fire time is kept if the times do not change: a program that creates its
        // schedules at each start must not lose the fire times that it missed.
        if (!info.paused && (schedule.id == 0 || !model::same_times(before, info)))
            info.next_fire_at =
                model::next_fire(info, retrying(backend, [&] { return backend.now(); }));
        return true;
    });
}

std::vector<ScheduleInfo> Store::schedules() const {
    std::vector<ScheduleInfo> infos;
    for (auto& schedule :
         store_->retrying([&](auto& backend) { return backend.schedules(std::nullopt); }))
        infos.push_back(std::move(schedule.info));
    return infos;
}

ScheduleInfo Store::schedule_info(std::string_view name) const {
    return require(*store_->backend(), std::string(name)).info;
}

void Store::pause_schedule(std::string_view name) const {
    set_paused(*store_->backend(), std::string(name), Pausing::pause);
}

void Store::resume_schedule(std::string_view name) const {
    set_paused(*store_->backend(), std::string(name), Pausing::resume);
}

Run Store::run_schedule_now(std::string_view name) const {
    const auto stored = require(*store_->backend(), std::string(name));
    return detail::trigger_one(model::extra_run(stored.info), *this);
}

void Store::delete_schedule(std::string_view name) const {
    store_->retrying([&](auto& backend) { backend.delete_schedule(std::string(name)); });
}

}  // namespace pawl::inline v0
