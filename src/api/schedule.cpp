#include "model/schedule.h"

#include <fmt/format.h>
#include <pawl/schedule.h>
#include <pawl/store.h>

#include "engine/reconnect.h"
#include "model/texts.h"
#include "seam/backend.h"

namespace pawl {

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

// Reads, changes and saves it, again where a scheduler or somebody else was in between. So it does
// not matter either whether the answer to an earlier save was lost.
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
    const std::string& cron, const std::string& time_zone, Timestamp after, int count
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

ScheduleInfo Store::schedule(
    const std::string& name,
    const std::string& workflow,
    const std::string& cron,
    const Json& params,
    const ScheduleOptions& options
) const {
    seam::Backend& backend = *backend_;
    const auto read = [&] {
        if (auto stored = find(backend, name)) return std::move(*stored);
        StoredSchedule made;
        made.info.name = name;
        made.info.time_zone = "UTC";
        return made;
    };
    return change(backend, read, [&](StoredSchedule& schedule) {
        const ScheduleInfo before = schedule.info;
        ScheduleInfo& info = schedule.info = model::changed_by(before, options);
        info.workflow = workflow;
        info.cron = cron;
        info.params = params;
        model::check_schedule(info, backend.options().max_payload_bytes);
        if (info.overlap != Overlap::queue_one) info.waiting_fire_at.reset();
        // A program that makes its schedules whenever it starts does not lose what it missed.
        if (!info.paused && (schedule.id == 0 || !model::same_times(before, info)))
            info.next_fire_at =
                model::next_fire(info, retrying(backend, [&] { return backend.now(); }));
        return true;
    });
}

std::vector<ScheduleInfo> Store::schedules() const {
    std::vector<ScheduleInfo> infos;
    for (auto& schedule : retrying(*backend_, [&] { return backend_->schedules(std::nullopt); }))
        infos.push_back(std::move(schedule.info));
    return infos;
}

ScheduleInfo Store::get_schedule(const std::string& name) const {
    return require(*backend_, name).info;
}

void Store::pause_schedule(const std::string& name) const {
    set_paused(*backend_, name, Pausing::pause);
}

void Store::resume_schedule(const std::string& name) const {
    set_paused(*backend_, name, Pausing::resume);
}

Run Store::run_schedule_now(const std::string& name) const {
    const NewRun run = model::extra_run(require(*backend_, name).info);
    return execute_many(std::span(&run, 1), *this).front();
}

void Store::delete_schedule(const std::string& name) const {
    retrying(*backend_, [&] { backend_->delete_schedule(name); });
}

}  // namespace pawl
