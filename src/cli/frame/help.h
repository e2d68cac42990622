// The layout of --help. Only for files that include CLI11 anyway.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace pawl::cli {

/// CLI11's formatter without its remarks about options that exclude each other: errors name them.
class HelpFormatter : public CLI::Formatter {
public:
    HelpFormatter() { column_width(30); }

    std::string make_option_opts(const CLI::Option* option) const override {
        std::string text;
        const bool takes_value = option->get_items_expected_max() > 0;
        if (takes_value && option->nonpositional()) text += " " + option->get_type_name();
        if (!option->get_envname().empty()) text += " (or " + option->get_envname() + ")";
        return text;
    }
    std::string make_option_usage(const CLI::Option* option) const override {
        const auto& text = option->get_option_text();
        return text.empty() ? CLI::Formatter::make_option_usage(option) : text;
    }
};

}  // namespace pawl::cli
