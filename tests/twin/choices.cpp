#include "twin/choices.h"

#include "base/literals.h"

namespace pawl::test::twin {

namespace {
const std::vector<std::string> odd_names{"none", "qa", "wa", "fa", "bad name", ""};

std::string named(Dice& dice, const std::vector<std::string>& names) {
    return dice.one_in(25) ? dice.of(odd_names) : dice.of(names);
}
}  // namespace

std::string any_queue(Dice& dice) {
    return named(dice, queue_names);
}
std::string any_workflow(Dice& dice) {
    return named(dice, workflow_names);
}
std::string any_flow(Dice& dice) {
    return named(dice, flow_names);
}

std::string any_step(Dice& dice) {
    static const std::vector<std::string> odd{"a#2", "none", ""};
    return dice.one_in(15) ? dice.of(odd) : dice.of(step_names);
}

std::string value(Dice& dice) {
    static const std::vector<std::string> values{
        "1",
        "null",
        "true",
        "\"text\"",
        R"({"k":1})",
        R"({"b": 1, "a": {"c": []}})",
        "[1,2]",
        "[]",
        "-0.5",
        "\"\\u00e4\\n\""};
    return dice.of(values);
}

Json any_json(Dice& dice) {
    static const std::vector<std::string> bad{"{", "", "nul", "1 2"};
    return Json(dice.one_in(40) ? dice.of(bad) : value(dice));
}

Duration any_delay(Dice& dice) {
    static const std::vector<Duration> delays{0s, 0s, 0s, 1ms, 5s, 60s};
    return dice.one_in(40) ? Duration(-1) : dice.of(delays);
}

Duration some_time(Dice& dice) {
    static const std::vector<Duration> times{1ms, 1s, 5s, 30s, 10min, 1h};
    return dice.of(times);
}

std::string reason(Dice& dice) {
    static const std::vector<std::string> reasons{"no luck", "", "a 'quoted' reason", "ä\n\"x\""};
    return dice.of(reasons);
}

}  // namespace pawl::test::twin
