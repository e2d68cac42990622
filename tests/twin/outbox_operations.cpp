// The outbox, and retention.
#include <algorithm>
#include <tuple>

#include "seam/outbox_record.h"
#include "twin/choices.h"
#include "twin/operation.h"

namespace pawl::test::twin {

namespace {

NewOutboxEvent any_event(Dice& dice) {
    static const std::vector<std::string> aggregates{"", "x", "x", "y"};
    NewOutboxEvent event{"type.a", any_json(dice), dice.of(aggregates)};
    if (dice.one_in(5)) event.subject = "subject";
    if (dice.one_in(8))
        event.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    if (dice.one_in(40)) event.type.clear();
    return event;
}

Operation publish(Dice& dice, const World& /*seen*/) {
    const NewOutboxEvent event = any_event(dice);
    const int way = dice.below(5);
    return {
        fmt::format("publish for '{}'{}", event.aggregate, way < 2 ? " in a transaction" : ""),
        [=](World& world) {
            if (way >= 2) return world.show().ids().uuid(world.store().publish(event));
            world.database().begin();
            try {
                const std::string id =
                    world.store().publish_in(world.database().transaction(), event);
                world.database().run(way == 0 ? "rollback" : "commit");
                return way == 0 ? std::string("rolled back") : world.show().ids().uuid(id);
            } catch (...) {
                world.database().run("rollback");
                throw;
            }
        }};
}

Operation claim_outbox(Dice& dice, const World& /*seen*/) {
    const int limit = dice.between(1, 6);
    const int per_aggregate = dice.between(1, 3);
    const Duration lease = some_time(dice);
    return {
        fmt::format("claim {} events, {} of each aggregate", limit, per_aggregate),
        [=](World& world) {
            auto claim = world.backend().claim_outbox(limit, per_aggregate, lease);
            for (const seam::OutboxDelivery& one : claim.events) {
                world.deliveries.push_back(one);
                world.outbox.push_back(one.event.id);
            }
            // The order among aggregates is not promised.
            return world.show()(claim);
        }};
}

Operation report_outbox(Dice& dice, const World& seen) {
    if (seen.deliveries.empty()) return {};
    const int first = dice.index(seen.deliveries.size());
    std::vector<seam::OutboxReport> reports;
    std::string name;
    for (int i = dice.between(1, 3); i > 0; --i) {
        seam::OutboxReport report;
        report.kind = static_cast<seam::OutboxReport::Kind>(dice.below(4));
        report.error = reason(dice);
        report.delay = some_time(dice);
        name += " " + std::to_string(static_cast<int>(report.kind));
        reports.push_back(std::move(report));
    }
    const bool keeps = dice.one_in(3);
    return {fmt::format("report deliveries from {}:{}", first, name), [=](World& world) {
                if (world.deliveries.empty()) return nothing_there;
                std::vector<seam::OutboxReport> all = reports;
                if (all.size() > world.deliveries.size()) all.resize(world.deliveries.size());
                for (std::size_t i = 0; i < all.size(); ++i) {
                    const auto* delivery = at(world.deliveries, first + static_cast<int>(i));
                    all[i].id = delivery->event.id;
                    all[i].delivery = delivery->delivery;
                }
                const auto statuses = world.backend().report_outbox(all);
                if (!keeps) world.deliveries.clear();
                return world.show()(statuses);
            }};
}

Operation retry_parked(Dice& dice, const World& seen) {
    const int index = dice.one_in(3) ? -1 : dice.index(seen.outbox.size());
    return {fmt::format("retry parked {}", index), [=](World& world) {
                const std::int64_t* id = index < 0 ? nullptr : at(world.outbox, index);
                return world.show()(world.store().retry_parked(id == nullptr ? 0 : *id));
            }};
}

Keep any_keep(Dice& dice) {
    static const std::vector<Duration> ages{0s, 1s, 1min, 1h};
    Keep keep;
    keep.age = sometimes(dice, 2, [&] { return dice.of(ages); });
    keep.count = sometimes(dice, 3, [&] { return std::int64_t{dice.below(4)}; });
    return keep;
}

std::string name_for(Dice& dice, RetentionKind kind) {
    if (dice.one_in(4)) return all_names;
    if (kind <= RetentionKind::events) return dice.one_in(4) ? any_flow(dice) : any_workflow(dice);
    return any_queue(dice);
}

Operation set_retention(Dice& dice, const World& /*seen*/) {
    const auto kind = static_cast<RetentionKind>(dice.below(8));
    const std::string name =
        kind >= RetentionKind::outbox && !dice.one_in(10) ? "" : name_for(dice, kind);
    const Keep keep = any_keep(dice);
    const bool clears = dice.one_in(6);
    return {
        fmt::format("{} retention of {} '{}'", clears ? "clear" : "set", to_string(kind), name),
        [=](World& world) {
            if (clears) {
                world.store().clear_retention(kind, name);
            } else if (name.empty()) {
                world.store().set_retention(kind, keep);
            } else {
                world.store().set_retention(kind, name, keep);
            }
            return world.show()(world.store().retention());
        }};
}

// The order of policies is not promised.
template <class Part>
void by_name(std::vector<Part>& parts) {
    std::ranges::sort(parts, [](const Part& a, const Part& b) {
        return std::tie(a.name, a.kind) < std::tie(b.name, b.kind);
    });
}

Operation prune(Dice& dice, const World& /*seen*/) {
    const PruneOptions options{
        .dry_run = dice.one_in(3), .batch_rows = dice.between(1, 4), .share = 100};
    return {options.dry_run ? "prune, dry run" : "prune", [=](World& world) {
                PruneReport report = world.store().prune(options);
                by_name(report.parts);
                return world.show()(report.parts);
            }};
}

Operation prune_batches(Dice& dice, const World& /*seen*/) {
    const int rows = dice.between(1, 3);
    return {fmt::format("prune one batch of {} rows per policy", rows), [=](World& world) {
                std::string all;
                auto parts = world.backend().plan_prune();
                by_name(parts);
                for (const seam::PrunePart& part : parts) {
                    const auto batch = world.backend().prune_batch(
                        {.kind = part.kind, .queue = part.queue, .max_rows = rows}
                    );
                    all += world.show()(part) + ": " + world.show()(batch) + "\n    ";
                }
                return all;
            }};
}

Operation claim_prune(Dice& dice, const World& /*seen*/) {
    const Duration interval = some_time(dice);
    const auto turn = dice.one_in(3) ? seam::PruneTurn::keep : seam::PruneTurn::next;
    return {fmt::format("claim pruning for {} ms", interval.count()), [=](World& world) {
                const auto grant = world.backend().claim_prune(interval, turn);
                return world.show().fields("granted", grant.granted, "wait", grant.wait);
            }};
}

}  // namespace

const std::vector<OperationKind>& outbox_operations() {
    static const std::vector<OperationKind> all{
        {6, publish},
        {5, claim_outbox},
        {5, report_outbox},
        {2, retry_parked},
        {4, set_retention},
        {3, prune},
        {1, prune_batches},
        {1, claim_prune},
    };
    return all;
}

}  // namespace pawl::test::twin
