// locus fill: the words a model puts in place of [MASK], with its mask decoder.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/cli/program.h"
#include "core/cli/request.h"

namespace {

using namespace locus;
using Json = nlohmann::ordered_json;

struct Guess {
    std::string piece;
    std::int64_t id = 0;
    double logit = 0, probability = 0;
};

/// The best words of one row of logits; probabilities are over the whole vocabulary.
std::vector<Guess> best_words(const Eigen::Ref<const RowVector<float>>& logits, const Tokenizer& tokenizer, Index top) {
    std::vector<Index> order(static_cast<std::size_t>(logits.size()));
    std::iota(order.begin(), order.end(), 0);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min<Index>(top, logits.size()));
    std::partial_sort(order.begin(), end, order.end(), [&](Index a, Index b) { return logits[a] > logits[b]; });
    const double maximum = logits.maxCoeff();
    const double sum = (logits.cast<double>().array() - maximum).exp().sum();
    std::vector<Guess> guesses;
    for (auto id = order.begin(); id != end; ++id)
        guesses.push_back(
            {display_piece(tokenizer.piece(*id)), *id, logits[*id], std::exp(logits[*id] - maximum) / sum});
    return guesses;
}

std::string bar(double probability) {
    std::string text;
    for (int n = 0; n < static_cast<int>(std::lround(probability * 20)); ++n) text += "\u2588";
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Predicts the words behind [MASK].\n"
        "  locus fill \"the capital of france is [MASK].\"\n"
        "The enhanced mask decoder runs where the checkpoint has an absolute table; --no-emd leaves it out.",
        "locus fill");
    cli::Request request;
    std::string text;
    Index top = 5;
    bool no_emd = false, json = false;
    app.add_option("--model", request.model, "model folder, or the name of a built-in one")
        ->check(cli::not_empty())
        ->capture_default_str();
    app.add_option("text", text, "text with one or several [MASK]")->required();
    app.add_option("--top", top, "how many words")->check(CLI::Range(1, 1000000))->capture_default_str();
    app.add_flag("--no-emd", no_emd, "read the last layer instead, as Hugging Face does");
    app.add_flag("--json", json, "print JSON");
    return cli::run_program(app, argc, argv, [&] {
        const Checkpoint checkpoint = open_checkpoint(resolve_model(request.model));
        const auto tokenizer = open_tokenizer(checkpoint.folder);
        const ModelInput input = cli::input_of_texts({cli::readable_text(app, text)}, *tokenizer);
        LOCUS_CHECK(!input.mask_positions.empty(), "the text has no [MASK], expected at least one");
        const Deberta<float> model = cli::open_deberta<float>(checkpoint);
        if (!model.has_head())
            throw Error(Fault::unsupported,
                        checkpoint.folder.string() +
                            ": no masked-word head, expected lm_predictions.lm_head.* or cls.predictions.*");
        DebertaOptions options = DebertaOptions::of(Dialect::official);
        if (no_emd) options.decoder = MaskDecoder::none;
        const Trace trace = model.forward(input, options, StageFilter("mlm.logits_at_positions"));
        for (const std::string& warning : model.warnings()) cli::say(app, "warning: " + warning);

        const auto logits = trace.at("mlm.logits_at_positions").as<float>().rows();
        if (logits.hasNaN())
            throw Error(Fault::unreadable, checkpoint.folder.string() +
                                               ": the logits at [MASK] hold NaN, expected numbers to rank words by");
        Json masks = Json::array();
        for (Index n = 0; n < logits.rows(); ++n) {
            const std::int64_t position = input.mask_positions[2 * n + 1];
            Json words = Json::array();
            std::vector<std::vector<std::string>> rows;
            for (const Guess& guess : best_words(logits.row(n), *tokenizer, top)) {
                words.push_back({{"piece", guess.piece},
                                 {"id", guess.id},
                                 {"logit", guess.logit},
                                 {"probability", guess.probability}});
                char probability[16];
                std::snprintf(probability, sizeof probability, "%.4f", guess.probability);
                rows.push_back({"  " + guess.piece, probability, bar(guess.probability)});
            }
            masks.push_back({{"position", position}, {"top", words}});
            if (!json) std::cout << "[MASK] at token " << position << '\n' << cli::table(rows, {false, true, false});
        }
        if (json) std::cout << Json{{"masks", masks}}.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
        return 0;
    });
}
