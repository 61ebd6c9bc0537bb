// locus classify: what a fine-tuned model says of a text, of each of its tokens, or where in it an answer stands.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/cli/many_lines.h"
#include "core/cli/program.h"
#include "core/cli/words.h"
#include "core/io/classes.h"
#include "core/io/model_request.h"
#include "core/models/classifier_head.h"
#include "core/text/text_table.h"

namespace {

using namespace locus;
using Json = nlohmann::ordered_json;

struct Options {
    std::string model, text, text_file;
    Index top = 5;
    bool reference = false, json = false;
};

/// A folder with its tokenizer and the names of its classes.
struct Opened {
    Checkpoint checkpoint;
    Family family = Family::deberta;
    std::unique_ptr<Tokenizer> tokenizer;
    ClassNames names;
};

std::vector<Classes> classes_of(const Opened& opened, const Trace& trace, const ModelInput& input, Index top) {
    std::vector<std::string> tokens;
    for (const std::int64_t id : input.tokens.values()) tokens.push_back(readable_piece(opened.tokenizer.get(), id));
    std::vector<Classes> all = classes_in(trace, 0, opened.names, tokens, top);
    for (const Classes& each : all)
        if (each.holds_nan)
            throw Error(Fault::unreadable,
                        opened.checkpoint.folder.string() +
                            ": the logits of the classes hold NaN, expected numbers to rank them by");
    return all;
}

/// ", a weight ...; found classifier.weight [3, 20]": tensors with a head's names that make none; empty where there are
/// none.
std::string unused_heads(const Checkpoint& checkpoint) {
    std::string found;
    for (const std::string& tensor : head_tensors(*checkpoint.weights))
        found +=
            (found.empty() ? ", a weight [classes,width] and a bias [classes], of two classes or more; found " : ", ") +
            tensor;
    return found;
}

/// The model of the folder, if it has a head of classes.
std::unique_ptr<Model<float>> open_classifier(const Options& options, const Opened& opened, const ModelInput& input) {
    auto model = open_model_of<float>(opened.checkpoint, cpu_operations<float>(),
                                      options.reference ? ForwardPath::reference : ForwardPath::fast);
    const std::vector<std::string> names = model->stage_names({input}, Dialect::reference);
    if (std::none_of(names.begin(), names.end(), [](const auto& name) { return name.starts_with("classifier."); }))
        throw Error(Fault::unsupported, opened.checkpoint.folder.string() +
                                            ": no head of classes, expected classifier.* or qa_outputs.* of a model "
                                            "that was fine-tuned" +
                                            unused_heads(opened.checkpoint) + "; locus fill predicts words");
    return model;
}

Json as_json(const ClassScore& one, const char* what) {
    Json object = {{what, one.name}, {"id", one.number}, {"logit", one.logit}};
    object["probability"] = std::isnan(one.probability) ? Json() : Json(one.probability);
    return object;
}

/// {"classes": [...]}, {"tokens": [{"position", "piece", "classes"}, ...]}, or {"begins": [...], "ends": [...]}
Json as_json(const std::vector<Classes>& all, const Opened& opened, const ModelInput& input) {
    Json object = Json::object();
    for (const Classes& each : all) {
        const bool answer = each.of == Classes::Of::begin || each.of == Classes::Of::end;
        Json best = Json::array();
        for (const ClassScore& one : each.best) best.push_back(as_json(one, answer ? "piece" : "name"));
        if (each.of == Classes::Of::token)
            object["tokens"].push_back({{"position", each.token},
                                        {"piece", readable_piece(opened.tokenizer.get(), input.tokens[each.token])},
                                        {"classes", best}});
        else
            object[each.of == Classes::Of::text ? "classes" : each.of == Classes::Of::begin ? "begins" : "ends"] = best;
    }
    return object;
}

/// Nothing for NaN.
std::string four_digits(double number) {
    if (std::isnan(number)) return "";
    char text[32];
    std::snprintf(text, sizeof text, "%.4f", number);
    return text;
}

/// Of a text or an answer a line for each class; of tokens a line for each token with its likeliest class.
std::string as_table(const std::vector<Classes>& all, const Opened& opened, const ModelInput& input) {
    std::string printed;
    std::vector<std::vector<std::string>> tokens = {{"  token", "class", "probability"}};
    for (const Classes& each : all) {
        if (each.of == Classes::Of::token) {
            const ClassScore& best = each.best.front();
            tokens.push_back({"  " + readable_piece(opened.tokenizer.get(), input.tokens[each.token]), best.name,
                              four_digits(best.probability)});
            continue;
        }
        if (each.of == Classes::Of::begin || each.of == Classes::Of::end)
            printed += each.of == Classes::Of::begin ? "the answer begins at\n" : "the answer ends at\n";
        const bool text = each.of == Classes::Of::text;
        std::vector<std::vector<std::string>> rows = {{text ? "  class" : "  token", "logit", "probability", ""}};
        for (const ClassScore& one : each.best)
            rows.push_back({"  " + one.name + (text ? "" : " " + std::to_string(one.number)), four_digits(one.logit),
                            four_digits(one.probability),
                            std::isnan(one.probability) ? "" : cli::bar(one.probability)});
        printed += text_table(rows, {false, true, true, false});
    }
    return tokens.size() > 1 ? text_table(tokens, {false, false, true}) : printed;
}

std::string dumped(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

int classify_text(const cli::Command& program, const Options& options, const Opened& opened) {
    const ModelInput input = input_of_texts({cli::readable_text(program, options.text)}, *opened.tokenizer,
                                            opened.family, token_types_for(opened.checkpoint, opened.family));
    const auto model = open_classifier(options, opened, input);
    const Trace trace = model->forward({input}, Dialect::reference, StageFilter("classifier.*"));
    for (const std::string& warning : model->warnings()) cli::say(program, "warning: " + warning);
    const std::vector<Classes> all = classes_of(opened, trace, input, options.top);
    std::cout << (options.json ? dumped(as_json(all, opened, input)) + "\n" : as_table(all, opened, input));
    return 0;
}

/// Every line of a file.  All lines are read and checked before the first is computed, so that a bad one costs nothing.
int classify_lines(const cli::Command& program, const Options& options, const Opened& opened) {
    const TokenTypes types = token_types_for(opened.checkpoint, opened.family);
    const cli::TextLines texts = cli::read_text_lines(program, options.text_file, [&](const std::string& text) {
        return input_of_texts({text}, *opened.tokenizer, opened.family, types);
    });
    const auto model = open_classifier(options, opened, texts.inputs.front());
    const StageFilter wanted("classifier.*");
    cli::run_lines(program, texts, *model, Dialect::reference, wanted, [&](std::size_t n, const Trace& trace) {
        const std::vector<Classes> all = classes_of(opened, trace, texts.inputs[n], options.top);
        const cli::NumberedLine& line = texts.lines[n];
        if (options.json) {
            Json object = {{"line", line.number}};
            object.update(as_json(all, opened, texts.inputs[n]));
            std::cout << (n == 0 ? "{\"lines\": [\n" : ",\n") << dumped(object);
        } else {
            std::cout << "line " << line.number << ": " << one_line(line.text) << '\n'
                      << as_table(all, opened, texts.inputs[n]);
        }
    });
    if (options.json) std::cout << "\n]}\n";
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    cli::Command program(
        "What a fine-tuned model says: classes of a text or of its tokens, or where an answer stands.\n"
        "  locus classify --model DIR \"a man plays the guitar. [SEP] somebody makes music.\"\n"
        "  locus classify --model DIR --text-file pairs.txt --json\n"
        "One [SEP] between words makes two texts of it: premise and hypothesis, question and passage.\n"
        "Names of classes are those of id2label. Of several labels at once (problem_type), and of a single score, the\n"
        "probability is a sigmoid, else a softmax; a regression has none.",
        "locus classify");
    Options options;
    program.option("--model", options.model, "folder of a fine-tuned DeBERTa, RoFormer or XLNet")
        .not_empty()
        .required();
    const cli::Option text = program.option("text", options.text, "text, or two texts with [SEP] between them");
    program
        .option("--text-file", options.text_file,
                "a text on each line of this file instead, - reads the standard input; a deberta reads many together, "
                "not padded")
        .not_empty()
        .excludes(text);
    program.option("--top", options.top, "how many classes, or places of an answer").within(1, 1000000).shows_default();
    program.flag("--reference", options.reference,
                 "deberta: compute by the readable formulas instead of the fast path, which agrees up to rounding");
    program.flag("--json", options.json, "print JSON");
    return cli::run_program(program, argc, argv, [&] {
        LOCUS_CHECK(program.given("text") != program.given("--text-file"),
                    "neither a text nor --text-file, expected one of them");
        Opened opened;
        opened.checkpoint = open_checkpoint(resolve_model(options.model));
        opened.family = family_of(opened.checkpoint.config_json, opened.checkpoint.config_file.string());
        opened.tokenizer = open_tokenizer(opened.checkpoint.folder);
        opened.names = class_names(opened.checkpoint);
        if (!opened.names.warning.empty()) cli::say(program, "warning: " + opened.names.warning);
        return options.text_file.empty() ? classify_text(program, options, opened)
                                         : classify_lines(program, options, opened);
    });
}
