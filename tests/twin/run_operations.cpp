// Claimed runs, and operations of users on runs.
#include "twin/choices.h"
#include "twin/operation.h"
#include "twin/writes.h"

namespace pawl::test::twin {

namespace {

Operation claim_runs(Dice& dice, const World& seen) {
    std::vector<std::string> names{dice.of(workflow_names)};
    if (dice.one_in(3)) names = workflow_names;
    if (dice.one_in(10)) names.push_back(dice.of(queue_names));
    const int count = dice.between(1, 4);
    const int worker = dice.one_in(3) ? -1 : dice.index(seen.workers.size());
    return {
        fmt::format("claim {} runs of {}, worker {}", count, fmt::join(names, " "), worker),
        [=](World& world) {
            seam::ClaimRequest request;
            for (const QueueId id : world.backend().resolve_queues(names))
                if (id) request.queues.push_back(id);
            if (request.queues.empty()) return nothing_there;
            if (worker >= 0 && !world.workers.empty()) request.worker = *at(world.workers, worker);
            request.max_messages = world.claimable(names, count);
            request.work = seam::Work::runs;
            const seam::Claim claimed = world.backend().claim(request);
            for (std::size_t i = 0; i < claimed.messages.size(); ++i) {
                const Message& message = claimed.messages[i];
                if (claimed.runs.at(i)) {
                    world.know(RunId(message.id.value()));
                    world.runs.push_back({message, *claimed.runs[i]});
                } else {
                    world.know(message.id);
                    world.messages.push_back({message, names.back()});
                }
            }
            return world.show().claim(claimed, request.max_messages);
        }};
}

Operation commit_runs(Dice& dice, const World& seen) {
    if (seen.runs.empty()) return {};
    std::vector<DrawnWrite<Held>> writes;
    std::string name;
    const int first = dice.index(seen.runs.size());
    for (int i = dice.one_in(3) ? dice.between(2, 3) : 1; i > 0; --i) {
        writes.push_back(run_write(dice, seen));
        name += " " + writes.back().name + ";";
    }
    const bool repeated = dice.one_in(8);
    return {
        fmt::format("commit{} of held run {}:{}", repeated ? " twice" : "", first, name),
        [=](World& world) {
            std::vector<Write> all;
            for (std::size_t i = 0; i < std::min(writes.size(), world.runs.size()); ++i)
                all.push_back(writes[i].make(*at(world.runs, first + static_cast<int>(i))));
            return committed(world, std::move(all), repeated);
        }};
}

// Most old leases are dropped, because they are rarely useful.
Operation drop_leases(Dice& dice, const World& seen) {
    if (seen.runs.size() + seen.tasks.size() < 6) return {};
    const int keep = dice.below(3);
    return {"drop old leases", [=](World& world) {
                const auto drop = [keep](auto& all) {
                    const auto left = std::min(all.size(), static_cast<std::size_t>(keep));
                    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(left));
                };
                drop(world.runs);
                drop(world.tasks);
                return std::string("done");
            }};
}

// A call about one known run, rarely one that does not exist.
template <class Call>
Operation about_a_run(Dice& dice, const World& seen, const std::string& what, Call call) {
    const int index = dice.one_in(30) ? -1 : dice.index(seen.known_runs.size());
    return {fmt::format("{}, run {}", what, index), [=](World& world) {
                if (index < 0) return call(world, RunId(987'654'321));
                const RunId* run = at(world.known_runs, index);
                return run == nullptr ? nothing_there : call(world, *run);
            }};
}

Operation cancel(Dice& dice, const World& seen) {
    return about_a_run(dice, seen, "cancel", [why = reason(dice)](World& world, RunId run) {
        world.store().cancel(run, why);
        return std::string("done");
    });
}

Operation wake(Dice& dice, const World& seen) {
    return about_a_run(dice, seen, "wake", [](World& world, RunId run) {
        world.store().wake(run);
        return std::string("done");
    });
}

Operation retry(Dice& dice, const World& seen) {
    return about_a_run(dice, seen, "retry", [](World& world, RunId run) {
        const Run made = world.store().retry(run);
        world.know(made.id());
        return world.show()(made);
    });
}

Operation fork(Dice& dice, const World& seen) {
    const std::string step = any_step(dice);
    return about_a_run(dice, seen, "fork from " + step, [=](World& world, RunId run) {
        const Run made = world.store().fork(run, step);
        world.know(made.id());
        return world.show()(made);
    });
}

Operation delete_run(Dice& dice, const World& seen) {
    return about_a_run(dice, seen, "delete", [why = reason(dice)](World& world, RunId run) {
        world.store().delete_run(run, why);
        return std::string("done");
    });
}

Operation resume(Dice& dice, const World& seen) {
    const std::string step = any_step(dice);
    const Json data = any_json(dice);
    const ResumeOptions options{.early = dice.one_in(3)};
    const std::string name = fmt::format("resume{} at {}", options.early ? " early" : "", step);
    return about_a_run(dice, seen, name, [=](World& world, RunId run) {
        world.store().resume(run, step, data, options);
        return std::string("done");
    });
}

Operation reject_resume(Dice& dice, const World& seen) {
    if (seen.runs.empty()) return {};
    const int index = dice.index(seen.runs.size());
    const std::string step = dice.of(step_names);
    const Duration after = some_time(dice);
    return {fmt::format("reject the answer of {} in held run {}", step, index), [=](World& world) {
                const Held* held = at(world.runs, index);
                if (held == nullptr) return nothing_there;
                const auto outcome =
                    world.backend().reject_resume(held->lease(), step, "not a number", after);
                return world.show()(static_cast<int>(outcome));
            }};
}

}  // namespace

const std::vector<OperationKind>& run_operations() {
    static const std::vector<OperationKind> all{
        {20, claim_runs},
        {26, commit_runs},
        {2, drop_leases},
        {4, cancel},
        {3, wake},
        {3, retry},
        {3, fork},
        {2, delete_run},
        {8, resume},
        {2, reject_resume},
    };
    return all;
}

}  // namespace pawl::test::twin
