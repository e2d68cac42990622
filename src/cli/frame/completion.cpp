// pawl completion bash: the script is made from the command tree itself, so it cannot get stale.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "cli/frame/commands.h"

namespace pawl::cli {

namespace {

constexpr const char* script = R"(# bash completion for pawl; made by: pawl completion bash
_pawl() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}}
    local path='' skip='' words='' word i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        if [[ $skip ]]; then
            skip=''
            continue
        fi
        case $word in
        {value_options}) skip=1 ;;
        esac
        case "$path $word" in
        {paths})
            path="$path $word"
            ;;
        esac
    done
    case $prev in
    --file)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
{choices}    {value_options}) return ;;
    esac
    case $path in
{words}    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}}
complete -F _pawl pawl
)";

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App* below) { return !below->get_group().empty(); });
}

class BashScript {
public:
    explicit BashScript(const CLI::App& root) : root_(root) { visit(root, ""); }

    [[nodiscard]] std::string text() const {
        return fmt::format(
            fmt::runtime(script),
            fmt::arg("value_options", fmt::join(value_options_, " | ")),
            fmt::arg("paths", fmt::join(paths_, " | \\\n            ")),
            fmt::arg("choices", choices_),
            fmt::arg("words", words_)
        );
    }

private:
    void visit(const CLI::App& app, const std::string& path) {
        std::vector<std::string> words;
        for (const auto* below : shown_commands(app)) words.push_back(below->get_name());
        add_options(app, words);
        if (&app != &root_) {
            paths_.push_back("'" + path + "'");
            for (const auto* global : {"--url", "--json"}) words.emplace_back(global);
        }
        words_ += fmt::format("    '{}') words='{}' ;;\n", path, fmt::join(words, " "));
        for (const auto* below : shown_commands(app)) visit(*below, path + " " + below->get_name());
    }

    void add_options(const CLI::App& app, std::vector<std::string>& words) {
        for (const auto* option : app.get_options()) {
            if (option->get_lnames().empty()) continue;  // a positional
            const auto name = "--" + option->get_lnames().front();
            words.push_back(name);
            if (option->get_items_expected_max() == 0) continue;  // a flag
            const auto type = option->get_type_name();
            const bool first = value_options_.insert(name).second;
            if (first && type.find('|') != std::string::npos) add_choices(name, type);
        }
    }

    void add_choices(const std::string& name, std::string type) {
        std::ranges::replace(type, '|', ' ');
        choices_ += fmt::format(
            "    {})\n        mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\")\n"
            "        return\n        ;;\n",
            name,
            type
        );
    }

    const CLI::App& root_;
    std::set<std::string> value_options_;
    std::vector<std::string> paths_;
    std::string choices_;
    std::string words_;
};

}  // namespace

void add_completion_command(const Command& root) {
    const auto group = root.add("completion", "Print a script that completes pawl's commands");
    group.add("bash", "For bash")
        .examples("  pawl completion bash > ~/.local/share/bash-completion/completions/pawl")
        .run([root](const Context& context) {
            context.print(BashScript(root.app()).text());
            return ExitCode::ok;
        });
}

}  // namespace pawl::cli
