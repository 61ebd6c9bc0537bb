// locus fill: the words a model puts in place of [MASK], or after the text.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/cli/many_lines.h"
#include "core/cli/program.h"
#include "core/cli/words.h"
#include "core/io/model_request.h"

namespace {

using namespace locus;
using Json = nlohmann::ordered_json;

struct Options {
    std::string model = "tiny-v3", text, text_file, order;
    Index top = 5, segment = 0;
    bool no_emd = false, reference = false, json = false;
};

/// A folder with its tokenizer.
struct Opened {
    Checkpoint checkpoint;
    Family family = Family::deberta;
    std::unique_ptr<Tokenizer> tokenizer;
};

/// Where a word is predicted.
struct Place {
    Index position = 0;
    std::string title;  // "[MASK] at token 3"
};

/// One prediction: where, and a row of logits.
struct Row {
    Place place;
    RowVector<float> logits;
};

using Rows = std::vector<Row>;

/// The stage that holds the logits, and the weights that a checkpoint needs for it.
struct Head {
    const char *stage, *weights;
};

Head head_of(Family family) {
    switch (family) {
        case Family::roformer:
            return {"mlm.logits_at_positions", "cls.predictions.*"};
        case Family::xlnet:
            return {"lm.logits", "lm_loss.bias"};
        case Family::transformer_xl:
            return {"lm.logits", "crit.out_layers.0.bias"};
        case Family::deberta:
            break;
    }
    return {"mlm.logits_at_positions", "lm_predictions.lm_head.* or cls.predictions.*"};
}

template <class Net, class Switches>
void need_head(const Net& model, const Switches& switches, const ModelInput& input, const Opened& opened) {
    const std::vector<std::string> names = model.stage_names({input}, switches);
    const Head head = head_of(opened.family);
    if (std::find(names.begin(), names.end(), head.stage) == names.end())
        throw Error(Fault::unsupported, opened.checkpoint.folder.string() + ": no head that predicts words, expected " +
                                            head.weights + "; classes are what locus classify says");
}

/// Transformer-XL predicts what comes next, the others what stands at [MASK].
ModelInput input_of(const std::string& text, const Opened& opened) {
    ModelInput input = input_of_texts({text}, *opened.tokenizer, opened.family);
    LOCUS_CHECK(opened.family == Family::transformer_xl || !input.mask_positions.empty(),
                "the text has no [MASK], expected at least one");
    return input;
}

std::vector<Place> places_of(const ModelInput& input, const Opened& opened) {
    if (opened.family == Family::transformer_xl)
        return {{input.length(), "after token " + std::to_string(input.length() - 1)}};
    std::vector<Place> places;
    for (Index n = 0; n < input.mask_positions.extent(0); ++n) {
        const Index position = input.mask_positions[2 * n + 1];
        places.push_back({position, "[MASK] at token " + std::to_string(position)});
    }
    return places;
}

/// A row for each place; of Transformer-XL, which has one for every token, the last.
Rows rows_of(const Stage& stage, const std::vector<Place>& places) {
    const auto logits = stage.as<float>().rows();
    const Index first = logits.rows() - std::ssize(places);
    Rows rows;
    for (Index n = 0; n < std::ssize(places); ++n)
        rows.push_back({places[static_cast<std::size_t>(n)], logits.row(first + n)});
    return rows;
}

/// use(model, switches) with the model of the folder.
template <class Use>
void with_model(const Options& options, const Opened& opened, const Use& use) {
    const ForwardPath path = options.reference ? ForwardPath::reference : ForwardPath::fast;
    if (options.no_emd) {
        DebertaOptions switches = DebertaOptions::of(Dialect::reference);
        switches.decoder = MaskDecoder::none;
        return use(open_deberta<float>(opened.checkpoint, cpu_operations<float>(), path), switches);
    }
    use(*open_model_of<float>(opened.checkpoint, cpu_operations<float>(), path), Dialect::reference);
}

Rows fill_one(const cli::Command& program, const Options& options, const Opened& opened, const ModelInput& input,
              const std::vector<Place>& places) {
    Rows rows;
    with_model(options, opened, [&](const auto& model, const auto& switches) {
        need_head(model, switches, input, opened);
        const char* logits = head_of(opened.family).stage;
        const Trace trace = model.forward({input}, switches, StageFilter(logits));
        for (const std::string& warning : model.warnings()) cli::say(program, "warning: " + warning);
        rows = rows_of(trace.at(logits), places);
    });
    return rows;
}

/// "paris,france"
std::vector<std::string> parse_order(const std::string& order) {
    std::vector<std::string> words;
    for (std::size_t from = 0; from <= order.size();) {
        const std::size_t comma = std::min(order.find(',', from), order.size());
        words.push_back(order.substr(from, comma - from));
        LOCUS_CHECK(!words.back().empty(),
                    "--order is \"" + order + "\", expected words of the text separated by commas");
        from = comma + 1;
    }
    return words;
}

/// XLNet: words of the text one after the other, each seeing those before it.
Rows fill_in_order(const cli::Command& program, const Options& options, const Opened& opened) {
    ModelInput input = input_of_texts({options.text}, *opened.tokenizer, opened.family);
    LOCUS_CHECK(input.mask_positions.empty(), "--order names words of the text, which then holds no [MASK]");
    std::vector<Place> places;
    for (const Index position : predict_in_order(input, parse_order(options.order), *opened.tokenizer))
        places.push_back({position, "step " + std::to_string(places.size() + 1) + ": \"" +
                                        display_piece(opened.tokenizer->piece(input.tokens[position])) +
                                        "\" at token " + std::to_string(position)});
    return fill_one(program, options, opened, input, places);
}

/// Transformer-XL: the word after a text that was read segment by segment.
Rows fill_after_segments(const cli::Command& program, const Options& options, const Opened& opened) {
    const ModelInput whole = input_of(options.text, opened);
    const std::vector<ModelInput> segments = cut_segments(whole, options.segment);
    if (segments.size() == 1) return fill_one(program, options, opened, whole, places_of(whole, opened));
    const auto model = open_model_of<float>(opened.checkpoint);
    check_memory(*model, segments, Dialect::reference);
    need_head(*model, Dialect::reference, whole, opened);
    const std::string stage = "segment." + std::to_string(segments.size() - 1) + "." + head_of(opened.family).stage;
    const Trace trace = model->forward(segments, Dialect::reference, StageFilter(stage));
    for (const std::string& warning : model->warnings()) cli::say(program, "warning: " + warning);
    return rows_of(trace.at(stage), places_of(whole, opened));
}

void check_family(const Options& options, Family family) {
    LOCUS_CHECK(options.order.empty() || family == Family::xlnet,
                std::string("--order goes with xlnet, found ") + to_string(family));
    LOCUS_CHECK(options.segment == 0 || family == Family::transformer_xl,
                std::string("--segment goes with transfo-xl, found ") + to_string(family));
    LOCUS_CHECK(!options.no_emd || family == Family::deberta,
                std::string("--no-emd goes with deberta, found ") + to_string(family));
}

void need_numbers(const Rows& rows, const std::string& where) {
    for (const Row& row : rows)
        if (row.logits.hasNaN() || !std::isfinite(row.logits.maxCoeff()))
            throw Error(Fault::unreadable,
                        where +
                            ": the logits at [MASK] hold NaN or have no largest number, expected numbers to rank "
                            "words by");
}

/// [{"position", "top"}, ...]; as a table it is printed at once.
Json print(const Options& options, const Rows& rows, const Tokenizer& tokenizer) {
    Json all = Json::array();
    for (const Row& row : rows) {
        const std::vector<Guess> guesses = best_words(row.logits, &tokenizer, options.top);
        all.push_back({{"position", row.place.position}, {"top", cli::as_json(guesses)}});
        if (!options.json) std::cout << row.place.title << '\n' << cli::as_table(guesses);
    }
    return all;
}

Json as_object(const Json& predictions, Family family) {
    if (family == Family::transformer_xl) return {{"next", predictions.front()}};
    return {{"masks", predictions}};
}

std::string dumped(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

int fill_text(const cli::Command& program, const Options& options, const Opened& opened) {
    Rows rows;
    if (!options.order.empty()) {
        rows = fill_in_order(program, options, opened);
    } else if (options.segment > 0) {
        rows = fill_after_segments(program, options, opened);
    } else {
        const ModelInput input = input_of(options.text, opened);
        rows = fill_one(program, options, opened, input, places_of(input, opened));
    }
    need_numbers(rows, opened.checkpoint.folder.string());
    const Json all = print(options, rows, *opened.tokenizer);
    if (options.json) std::cout << dumped(as_object(all, opened.family)) << '\n';
    return 0;
}

/// Every line of a file.  All lines are read and checked before the first is computed, so that a bad one costs nothing.
int fill_lines(const cli::Command& program, const Options& options, const Opened& opened) {
    LOCUS_CHECK(options.order.empty() && options.segment == 0,
                "--text-file goes with texts as they are, found --order or --segment beside it");
    const cli::TextLines texts = cli::read_text_lines(program, options.text_file,
                                                      [&](const std::string& text) { return input_of(text, opened); });
    const char* logits = head_of(opened.family).stage;
    const auto show = [&](std::size_t n, const Trace& trace) {
        const Rows rows = rows_of(trace.at(logits), places_of(texts.inputs[n], opened));
        need_numbers(rows, texts.place(n) + ", " + options.model);
        const cli::NumberedLine& line = texts.lines[n];
        if (!options.json) std::cout << "line " << line.number << ": " << one_line(line.text) << '\n';
        Json object = {{"line", line.number}};
        object.update(as_object(print(options, rows, *opened.tokenizer), opened.family));
        if (options.json) std::cout << (n == 0 ? "{\"lines\": [\n" : ",\n") << dumped(object);
    };
    with_model(options, opened, [&](const auto& model, const auto& switches) {
        need_head(model, switches, texts.inputs.front(), opened);
        cli::run_lines(program, texts, model, switches, StageFilter(logits), show);
    });
    if (options.json) std::cout << "\n]}\n";
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    cli::Command program(
        "Predicts the words for [MASK]; with Transformer-XL, the next word.\n"
        "  locus fill \"the capital of france is [MASK].\"\n"
        "  locus fill --text-file questions.txt --json\n"
        "  locus fill --model tiny-roformer \"i love studying [MASK] learning so much.\"\n"
        "  locus fill --model tiny-xlnet \"the capital of france is paris.\" --order paris,france\n"
        "  locus fill --model tiny-txl --segment 12 \"tom went to the bakery with a letter. lucy was at the museum. "
        "tom "
        "left the\"\n"
        "DeBERTa: the enhanced mask decoder runs where the checkpoint has an absolute table; --no-emd leaves it out.\n"
        "XLNet: every [MASK] is a target of the query stream, hidden from all tokens.",
        "locus fill");
    Options options;
    program.option("--model", options.model, "model folder, or the name of a built-in one").not_empty().shows_default();
    const cli::Option text =
        program.option("text", options.text, "text with one or several [MASK]; with Transformer-XL, its beginning");
    program
        .option("--text-file", options.text_file,
                "a text on each line of this file instead, - reads the standard input; a deberta reads many together, "
                "not padded")
        .not_empty()
        .excludes(text);
    program.option("--top", options.top, "how many words").within(1, 1000000).shows_default();
    program
        .option("--order", options.order,
                "xlnet: predict these words of the text one after the other, each seeing those before it: A,B")
        .not_empty();
    program
        .option("--segment", options.segment,
                "transfo-xl: tokens per segment, memory handed on; the whole text at once if absent")
        .within(1, 1000000);
    program.flag("--reference", options.reference,
                 "deberta: compute by the readable formulas instead of the fast path, which agrees up to rounding");
    program.flag("--no-emd", options.no_emd, "deberta: read the last layer instead, as Hugging Face does");
    program.flag("--json", options.json, "print JSON");
    return cli::run_program(program, argc, argv, [&] {
        LOCUS_CHECK(program.given("text") != program.given("--text-file"),
                    "neither a text nor --text-file, expected one of them");
        Opened opened;
        opened.checkpoint = open_checkpoint(resolve_model(options.model));
        opened.family = family_of(opened.checkpoint.config_json, opened.checkpoint.config_file.string());
        opened.tokenizer = open_tokenizer(opened.checkpoint.folder);
        check_family(options, opened.family);
        if (!options.text_file.empty()) return fill_lines(program, options, opened);
        options.text = cli::readable_text(program, options.text);
        return fill_text(program, options, opened);
    });
}
