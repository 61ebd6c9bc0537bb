// locus tokens: what the model reads.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/cli/program.h"
#include "core/cli/words.h"
#include "core/io/checkpoint.h"
#include "core/io/model_request.h"
#include "core/text/text_table.h"
#include "core/text/tokenizers/tokenizer.h"

int main(int argc, char** argv) {
    using namespace locus;
    cli::Command program(
        "Prints the token ids and pieces of a text.\n"
        "  locus tokens \"a new store opened.\"\n"
        "ids hold the special tokens the model wants around the text; pieces are those of the text.",
        "locus tokens");
    std::string model = "tiny-v3", text;
    bool json = false;
    program.option("--model", model, "model folder (only its tokenizer is needed), or a built-in one")
        .not_empty()
        .shows_default();
    program.option("text", text, "the text").required();
    program.flag("--json", json, "print {\"ids\": [...], \"pieces\": [...]}");
    return cli::run_program(program, argc, argv, [&] {
        const auto tokenizer = open_tokenizer(resolve_model(model));
        const Tokens tokens = tokenizer->encode(cli::readable_text(program, text));
        const auto [before, behind] = tokenizer->frame();
        if (json) {
            const std::vector<std::string> pieces(tokens.pieces.begin() + static_cast<std::ptrdiff_t>(before),
                                                  tokens.pieces.end() - static_cast<std::ptrdiff_t>(behind));
            const nlohmann::ordered_json object = {{"ids", tokens.ids}, {"pieces", pieces}};
            std::cout << object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
            return 0;
        }
        std::vector<std::vector<std::string>> rows = {{"position", "id", "piece"}};
        for (std::size_t t = 0; t < tokens.ids.size(); ++t)
            rows.push_back({std::to_string(t), std::to_string(tokens.ids[t]),
                            tokens.pieces[t] + (tokens.behind[t].empty() ? "" : " for " + tokens.behind[t])});
        std::cout << text_table(rows, {true, true, false});
        return 0;
    });
}
