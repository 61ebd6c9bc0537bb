// locus fill: the words a model puts in place of [MASK], or after the text.
#include <algorithm>
#include <cmath>
#include <functional>
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
    std::string model = "tiny-v3", text, text_file;
    std::vector<std::string> order;
    Index top = 5, segment = 0;
    bool no_emd = false, reference = false, json = false;
};

/// One prediction: where, and a row of logits.
struct Row {
    Index position = 0;
    std::string title;  // "[MASK] at token 3"
    RowVector<float> logits;
};

using Rows = std::vector<Row>;

Rows rows_at_masks(const Trace& trace, const ModelInput& input) {
    const auto logits = trace.at("mlm.logits_at_positions").as<float>().rows();
    Rows rows;
    for (Index n = 0; n < logits.rows(); ++n) {
        const Index position = input.mask_positions[2 * n + 1];
        rows.push_back({position, "[MASK] at token " + std::to_string(position), logits.row(n)});
    }
    return rows;
}

void need_head(bool has_head, const Checkpoint& checkpoint, const char* expected) {
    if (!has_head)
        throw Error(Fault::unsupported, checkpoint.folder.string() + ": no head that predicts words, expected " +
                                            expected + "; classes are what locus classify says");
}

void need_masks(const ModelInput& input) {
    LOCUS_CHECK(!input.mask_positions.empty(), "the text has no [MASK], expected at least one");
}

/// Every text with the rows of its masks, pack by pack: found(first, rows of each).
/// check(f) calls f(n) for each text before the first is computed: f throws what the model cannot do with number n.
void fill_deberta(const cli::Command& program, const Options& options, const Checkpoint& checkpoint,
                  const std::vector<ModelInput>& inputs,
                  const std::function<void(const std::function<void(std::size_t)>&)>& check,
                  const std::function<void(std::size_t, const std::vector<Rows>&)>& found) {
    const Deberta<float> model = open_deberta<float>(checkpoint, cpu_operations<float>(),
                                                     options.reference ? ForwardPath::reference : ForwardPath::fast);
    need_head(model.has_head(), checkpoint, "lm_predictions.lm_head.* or cls.predictions.*");
    DebertaOptions switches = DebertaOptions::of(Dialect::reference);
    if (options.no_emd) switches.decoder = MaskDecoder::none;
    const StageFilter wanted("mlm.logits_at_positions");
    check([&](std::size_t n) { model.check(inputs[n], switches, wanted); });
    cli::forward_in_packs(model, inputs, switches, wanted, [&](std::size_t first, const std::vector<Trace>& traces) {
        if (first == 0)
            for (const std::string& warning : model.warnings()) cli::say(program, "warning: " + warning);
        std::vector<Rows> rows;
        for (std::size_t n = 0; n < traces.size(); ++n) rows.push_back(rows_at_masks(traces[n], inputs[first + n]));
        found(first, rows);
    });
}

Rows fill_deberta(const cli::Command& program, const Options& options, const Checkpoint& checkpoint,
                  const Tokenizer& tokenizer) {
    const ModelInput input = input_of_texts({options.text}, tokenizer, Family::deberta);
    need_masks(input);
    Rows rows;
    fill_deberta(
        program, options, checkpoint, {input}, [](const auto& check) { check(0); },
        [&](std::size_t, const std::vector<Rows>& found) { rows = found.front(); });
    return rows;
}

/// Runs any family for one stage; refuses where the model has no such head.
Trace run(const cli::Command& program, const Checkpoint& checkpoint, const std::vector<ModelInput>& segments,
          const std::string& stage, const char* expected) {
    const auto model = open_model_of<float>(checkpoint);
    check_memory(*model, segments, Dialect::reference);
    const std::vector<std::string> names = model->stage_names(segments, Dialect::reference);
    need_head(std::find(names.begin(), names.end(), stage) != names.end(), checkpoint, expected);
    Trace trace = model->forward(segments, Dialect::reference, StageFilter(stage));
    for (const std::string& warning : model->warnings()) cli::say(program, "warning: " + warning);
    return trace;
}

Rows fill_roformer(const cli::Command& program, const Options& options, const Checkpoint& checkpoint,
                   const Tokenizer& tokenizer) {
    const ModelInput input = input_of_texts({options.text}, tokenizer, Family::roformer);
    need_masks(input);
    return rows_at_masks(run(program, checkpoint, {input}, "mlm.logits_at_positions", "cls.predictions.*"), input);
}

Rows fill_xlnet(const cli::Command& program, const Options& options, const Checkpoint& checkpoint,
                const Tokenizer& tokenizer) {
    ModelInput input = input_of_texts({options.text}, tokenizer, Family::xlnet);
    std::vector<Index> positions;
    if (options.order.empty()) {
        need_masks(input);
        for (Index n = 0; n < input.mask_positions.extent(0); ++n) positions.push_back(input.mask_positions[2 * n + 1]);
    } else {
        LOCUS_CHECK(input.mask_positions.empty(), "--order names words of the text, which then holds no [MASK]");
        positions = predict_in_order(input, options.order, tokenizer);
    }
    const Trace trace = run(program, checkpoint, {input}, "lm.logits", "lm_loss.bias");
    const auto logits = trace.at("lm.logits").as<float>().rows();
    Rows rows;
    for (Index p = 0; p < logits.rows(); ++p) {
        const Index position = positions[static_cast<std::size_t>(p)];
        const std::string word = display_piece(tokenizer.piece(input.tokens[position]));
        rows.push_back({position,
                        options.order.empty() ? "[MASK] at token " + std::to_string(position)
                                              : "step " + std::to_string(p + 1) + ": \"" + word + "\" at token " +
                                                    std::to_string(position),
                        logits.row(p)});
    }
    return rows;
}

Rows next_word(const cli::Command& program, const Options& options, const Checkpoint& checkpoint,
               const Tokenizer& tokenizer) {
    const ModelInput whole = input_of_texts({options.text}, tokenizer, Family::transformer_xl);
    const std::vector<ModelInput> segments =
        cut_segments(whole, options.segment > 0 ? options.segment : whole.length());
    const std::string stage =
        segments.size() == 1 ? "lm.logits" : "segment." + std::to_string(segments.size() - 1) + ".lm.logits";
    const Trace trace = run(program, checkpoint, segments, stage, "crit.out_layers.0.bias");
    const auto logits = trace.at(stage).as<float>().rows();
    return {{whole.length(), "after token " + std::to_string(whole.length() - 1), logits.row(logits.rows() - 1)}};
}

Rows predict(const cli::Command& program, const Options& options, const Checkpoint& checkpoint,
             const Tokenizer& tokenizer, Family family) {
    LOCUS_CHECK(options.order.empty() || family == Family::xlnet,
                std::string("--order goes with xlnet, found ") + to_string(family));
    LOCUS_CHECK(options.segment == 0 || family == Family::transformer_xl,
                std::string("--segment goes with transfo-xl, found ") + to_string(family));
    LOCUS_CHECK(!options.no_emd || family == Family::deberta,
                std::string("--no-emd goes with deberta, found ") + to_string(family));
    switch (family) {
        case Family::roformer:
            return fill_roformer(program, options, checkpoint, tokenizer);
        case Family::xlnet:
            return fill_xlnet(program, options, checkpoint, tokenizer);
        case Family::transformer_xl:
            return next_word(program, options, checkpoint, tokenizer);
        case Family::deberta:
            break;
    }
    return fill_deberta(program, options, checkpoint, tokenizer);
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
        all.push_back({{"position", row.position}, {"top", cli::as_json(guesses)}});
        if (!options.json) std::cout << row.title << '\n' << cli::as_table(guesses);
    }
    return all;
}

std::string dumped(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

int fill_text(const cli::Command& program, const Options& options, const Checkpoint& checkpoint,
              const Tokenizer& tokenizer, Family family) {
    const Rows rows = predict(program, options, checkpoint, tokenizer, family);
    need_numbers(rows, checkpoint.folder.string());
    const Json all = print(options, rows, tokenizer);
    const Json object = family == Family::transformer_xl ? Json{{"next", all.front()}} : Json{{"masks", all}};
    if (options.json) std::cout << dumped(object) << '\n';
    return 0;
}

/// Every line of a file.  All lines are read and checked before the first is computed, so that a bad one costs nothing.
int fill_lines(const cli::Command& program, const Options& options, const Checkpoint& checkpoint,
               const Tokenizer& tokenizer, Family family) {
    LOCUS_CHECK(family == Family::deberta, std::string("--text-file goes with deberta, found ") + to_string(family));
    LOCUS_CHECK(options.order.empty() && options.segment == 0,
                "--text-file goes with deberta, found --order or --segment beside it");
    const std::vector<cli::NumberedLine> lines = cli::read_numbered_lines(program, options.text_file);
    std::vector<ModelInput> inputs;
    cli::check_lines(options.text_file, lines, [&](std::size_t n) {
        inputs.push_back(input_of_texts({lines[n].text}, tokenizer, family));
        need_masks(inputs.back());
    });
    cli::CountProgress progress(program, lines.size(), "lines");
    const auto check = [&](const std::function<void(std::size_t)>& each) {
        cli::check_lines(options.text_file, lines, each);
    };
    std::size_t printed = 0;
    const auto show = [&](const cli::NumberedLine& line, const Rows& rows) {
        if (!options.json) std::cout << "line " << line.number << ": " << one_line(line.text) << '\n';
        const Json object = {{"line", line.number}, {"masks", print(options, rows, tokenizer)}};
        if (options.json) std::cout << (printed == 0 ? "{\"lines\": [\n" : ",\n") << dumped(object);
        ++printed;
    };
    fill_deberta(program, options, checkpoint, inputs, check, [&](std::size_t first, const std::vector<Rows>& pack) {
        progress.clear();
        for (std::size_t n = 0; n < pack.size(); ++n) {
            need_numbers(pack[n], cli::place_of(options.text_file, lines[first + n]) + ", " + options.model);
            show(lines[first + n], pack[n]);
        }
        cli::need_output();
        progress.done(first + pack.size());
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
                "deberta: a text on each line of this file instead; they pass the model together, not padded")
        .not_empty()
        .excludes(text);
    program.option("--top", options.top, "how many words").within(1, 1000000).shows_default();
    program
        .option("--order", options.order,
                "xlnet: predict these words of the text one after the other, each seeing those before it: A,B")
        .separated_by(',')
        .one_value_each();  // what follows is the text
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
        const Checkpoint checkpoint = open_checkpoint(resolve_model(options.model));
        const Family family = family_of(checkpoint.config_json, checkpoint.config_file.string());
        const auto tokenizer = open_tokenizer(checkpoint.folder);
        if (!options.text_file.empty()) return fill_lines(program, options, checkpoint, *tokenizer, family);
        options.text = cli::readable_text(program, options.text);
        return fill_text(program, options, checkpoint, *tokenizer, family);
    });
}
