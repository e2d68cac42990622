// model::contains is equal to the server's jsonb @>: compared on random values.
#include "model/json_contains.h"

#include <nlohmann/json.hpp>
#include <random>

#include "support/store_test.h"

namespace pawl::test {
namespace {

using nlohmann::json;

// Few different values, so that one often contains the other.
class RandomJson {
public:
    explicit RandomJson(unsigned seed) : random_(seed) {}

    json value(int depth) {
        const int kind = pick(depth > 0 ? 8 : 5);
        if (kind < 2) return pick(3);
        if (kind == 2) return pick(2) == 0 ? json(1.0) : json(0.5);
        if (kind == 3) return std::string(1, static_cast<char>('a' + pick(2)));
        if (kind == 4) return pick(2) == 0 ? json(nullptr) : json(pick(2) == 0);
        json made = kind == 5 ? json::object() : json::array();
        for (int i = pick(4); i > 0; --i) {
            if (kind == 5) {
                made[std::string(1, static_cast<char>('k' + pick(3)))] = value(depth - 1);
            } else {
                made.push_back(value(depth - 1));
            }
        }
        return made;
    }
    // A value with parts omitted: mostly contained in it.
    json part_of(const json& whole) {
        if (pick(12) == 0) return value(1);
        json made = whole;
        if (whole.is_object()) {
            for (const auto& [key, member] : whole.items()) {
                if (pick(2) == 0) {
                    made.erase(key);
                } else {
                    made[key] = part_of(member);
                }
            }
        } else if (whole.is_array()) {
            made = json::array();
            for (const json& element : whole) {
                if (pick(2) == 0) made.push_back(part_of(element));
            }
            if (whole.size() == 1 && pick(2) == 0) return whole.front();
        }
        return made;
    }

private:
    int pick(int below) { return std::uniform_int_distribution<>(0, below - 1)(random_); }
    std::mt19937 random_;
};

std::string quoted(const json& value) {
    return "'" + value.dump() + "'";
}

TEST(JsonContainsTest, containment_is_the_servers) {
    const unsigned seed = std::random_device{}();
    RandomJson random(seed);
    const auto sql = Place(BackendKind::postgres).database();
    std::vector<std::pair<json, json>> pairs;
    std::string values;
    for (int i = 0; i < 600; ++i) {
        const json value = random.value(3);
        const json pattern = i % 3 == 0 ? random.value(2) : random.part_of(value);
        pairs.emplace_back(value, pattern);
        values += (i == 0 ? "(" : ",(") + std::to_string(i) + "," + quoted(value) + "," +
                  quoted(pattern) + ")";
    }
    const auto rows = sql->rows(
        "select (v::jsonb @> p::jsonb)::int from (values " + values + ") as t(i, v, p) order by i"
    );
    ASSERT_EQ(rows.size(), pairs.size());
    int contained = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto& [value, pattern] = pairs[i];
        const bool expected = rows[i].front() == "1";
        EXPECT_EQ(model::contains(value, pattern), expected)
            << value << " @> " << pattern << ", seed " << seed;
        contained += expected ? 1 : 0;
    }
    EXPECT_GT(contained, 50) << "else it says little; seed " << seed;
    EXPECT_LT(contained, 550) << "seed " << seed;
}

}  // namespace
}  // namespace pawl::test
