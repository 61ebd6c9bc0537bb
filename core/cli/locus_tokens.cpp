// locus tokens: what the model reads.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/cli/program.h"
#include "core/cli/words.h"
#include "core/io/checkpoint.h"
#include "core/io/model_request.h"
#include "core/text/text_table.h"
#include "core/text/tokenizers/tokenizer.h"

using namespace locus;

int main(int argc, char** argv) {
    cli::Command program(
        "Prints the token ids and pieces of a text, or of two texts as one input.\n"
        "  locus tokens \"a new store opened.\"\n"
        "  locus tokens \"who opened it?\" \"a new store opened.\"\n"
        "ids hold the special tokens the model wants around the text; pieces are those of the text. Of two texts each "
        "token\nhas its type, which says which text it is of.\n"
        "[MASK] and [SEP] stand for the model's own names, and one [SEP] between words makes two texts of one, as in "
        "locus\nfill, trace and classify.",
        "locus tokens");
    std::string model = "tiny-v3", text, second;
    bool json = false;
    program.option("--model", model, "model folder (only its tokenizer is needed), or a built-in one")
        .not_empty()
        .shows_default();
    program.option("text", text, "the text").required();
    program.option("second", second, "a second text: hypothesis, passage");
    program.flag("--json", json, "print {\"ids\": [...], \"pieces\": [...]}, of two texts also \"types\"");
    return cli::run_program(program, argc, argv, [&] {
        const std::filesystem::path folder = resolve_model(model);
        const std::string first = cli::readable_text(program, text);
        std::optional<std::string> other;
        if (program.given("second")) other = cli::readable_text(program, second);
        const auto tokenizer = open_tokenizer(folder);
        const Tokens tokens = tokens_read(*tokenizer, folder, first, other);
        const bool two = tokens.pair;
        const auto [before, behind] = tokenizer->frame();
        if (json) {
            const std::vector<std::string> pieces(tokens.pieces.begin() + static_cast<std::ptrdiff_t>(before),
                                                  tokens.pieces.end() - static_cast<std::ptrdiff_t>(behind));
            nlohmann::ordered_json object = {{"ids", tokens.ids}, {"pieces", pieces}};
            if (two) object["types"] = tokens.types;
            std::cout << object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
            return 0;
        }
        std::vector<std::vector<std::string>> rows = {{"position", "id", "piece"}};
        if (two) rows.front().push_back("type");
        for (std::size_t t = 0; t < tokens.ids.size(); ++t) {
            rows.push_back({std::to_string(t), std::to_string(tokens.ids[t]),
                            tokens.pieces[t] + (tokens.behind[t].empty() ? "" : " for " + tokens.behind[t])});
            if (two) rows.back().push_back(std::to_string(tokens.types[t]));
        }
        std::cout << text_table(rows, {true, true, false, true});
        return 0;
    });
}
