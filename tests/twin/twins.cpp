#include "twin/twins.h"

#include <sstream>

#include "twin/dump.h"

namespace pawl::test::twin {

namespace {

constexpr int max_replays = 150;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

// The lines that differ, up to a few.
std::string differing_lines(
    const World& one, const std::string& first, const World& other, const std::string& second
) {
    const auto left = lines_of(first);
    const auto right = lines_of(second);
    std::ostringstream out;
    int shown = 0;
    for (std::size_t i = 0; i < std::max(left.size(), right.size()) && shown < 4; ++i) {
        const std::string a = i < left.size() ? left[i] : "(nothing)";
        const std::string b = i < right.size() ? right[i] : "(nothing)";
        if (a == b) continue;
        ++shown;
        out << "  " << one.kind() << ": " << a << "\n  " << other.kind() << ": " << b << "\n";
    }
    return out.str();
}

}  // namespace

Twins::Twins() {
    for (const BackendKind kind : built_backends())
        worlds_.push_back(std::make_unique<World>(kind));
}

void Twins::reset() {
    for (const auto& world : worlds_) world->reset();
}

std::optional<std::string> Twins::perform(const Operation& operation) {
    const std::string first = answer(*worlds_.front(), operation.perform);
    std::optional<std::string> difference;
    for (std::size_t i = 1; i < worlds_.size(); ++i) {
        const std::string other = answer(*worlds_[i], operation.perform);
        if (other != first && !difference)
            difference = differing_lines(*worlds_.front(), first, *worlds_[i], other);
    }
    return difference;
}

std::optional<std::string> Twins::compare_dumps() {
    const std::string first = dump(*worlds_.front());
    for (std::size_t i = 1; i < worlds_.size(); ++i) {
        const std::string other = dump(*worlds_[i]);
        if (other != first)
            return "dumps differ:\n" + differing_lines(*worlds_.front(), first, *worlds_[i], other);
    }
    return std::nullopt;
}

std::optional<Difference> Twins::replay(const std::vector<Operation>& operations) {
    reset();
    for (std::size_t i = 0; i < operations.size(); ++i)
        if (auto text = perform(operations[i])) return Difference{i + 1, *text};
    if (auto text = compare_dumps()) return Difference{operations.size(), *text};
    return std::nullopt;
}

void Twins::shrink(std::vector<Operation>& operations, Difference& difference) {
    operations.resize(difference.operations);
    int replays = 0;
    for (std::size_t chunk = std::max<std::size_t>(operations.size() / 2, 1); chunk > 0;
         chunk /= 2) {
        for (std::size_t from = 0; from < operations.size() && replays < max_replays;) {
            std::vector<Operation> fewer = operations;
            const auto start = fewer.begin() + static_cast<std::ptrdiff_t>(from);
            const auto count = std::min(chunk, operations.size() - from);
            fewer.erase(start, start + static_cast<std::ptrdiff_t>(count));
            ++replays;
            if (auto found = replay(fewer)) {
                difference = *found;
                fewer.resize(found->operations);
                operations = std::move(fewer);
            } else {
                from += chunk;
            }
        }
    }
}

std::string Twins::try_seed(int seed, int count) {
    reset();
    Dice dice(static_cast<std::uint32_t>(seed));
    std::vector<Operation> operations;
    std::optional<Difference> difference;
    const auto add = [&](Operation operation) {
        operations.push_back(std::move(operation));
        if (auto text = perform(operations.back())) difference = {operations.size(), *text};
    };
    for (Operation& first : first_operations(dice, *worlds_.front()))
        if (!difference) add(std::move(first));
    while (!difference && static_cast<int>(operations.size()) < count)
        add(random_operation(dice, *worlds_.front()));
    if (!difference)
        if (auto text = compare_dumps()) difference = {operations.size(), *text};
    if (!difference) return {};

    shrink(operations, *difference);
    std::string text = "seed " + std::to_string(seed) + ", after these operations:\n";
    for (std::size_t i = 0; i < operations.size(); ++i)
        text += fmt::format("  {}. {}\n", i + 1, operations[i].name);
    return text + "the stores differ:\n" + difference->text;
}

}  // namespace pawl::test::twin
