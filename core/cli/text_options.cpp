#include "core/cli/text_options.h"

#include <iostream>

#include "core/cli/program.h"
#include "core/text/text_table.h"

namespace locus::cli {

void add_top(CLI::App& command, CommonOptions& options, const std::string& what) {
    command.add_option("--top", options.top, what + "; 0 for all")
        ->check(CLI::Range(0, 1000000000))
        ->capture_default_str();
}

void print(const Json& json) { std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n'; }

void print(const CommonOptions& options, const Json& json, const Rows& rows, const std::vector<bool>& numbers) {
    if (options.json)
        print(json);
    else
        std::cout << text_table(rows, numbers);
}

}  // namespace locus::cli
