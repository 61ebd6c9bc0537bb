// locus trace: runs a model and keeps every stage that was asked for.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/cli/many_lines.h"
#include "core/cli/program.h"
#include "core/cli/trace_stages.h"
#include "core/cli/words.h"
#include "core/io/checkpoint.h"
#include "core/io/input_file.h"
#include "core/io/model_request.h"
#include "core/io/recorded_inputs.h"
#include "core/io/safetensors.h"
#include "core/io/write_target.h"
#include "core/json_text.h"
#include "core/models/classifier_head.h"
#include "core/text/text_table.h"
#include "core/training/masked_words.h"
#include "cuda/library.h"
#include "cuda/reference/operations.h"

namespace {

using namespace locus;
using Json = nlohmann::ordered_json;

struct Options {
    ModelRequest request;
    std::string stages, precision = "f32", dialect = "reference", device = "cpu", out, text_file;
    std::vector<std::string> answers;
    bool json = false, gradients = false, reference = false, list_stages = false;
};

struct Summary {
    double min = 0, max = 0, mean = 0, rms = 0;
};

Summary summarise(const Stage& stage) {
    Summary summary = {stage.size() ? stage.at(0) : std::nan(""), stage.size() ? stage.at(0) : std::nan("")};
    double sum = 0, squares = 0;
    for (Index n = 0; n < stage.size(); ++n) {
        const double value = stage.at(n);
        // A NaN compares false with everything: once met, it is to stay.
        if (std::isnan(value) || value < summary.min) summary.min = value;
        if (std::isnan(value) || value > summary.max) summary.max = value;
        sum += value;
        squares += value * value;
    }
    summary.mean = sum / static_cast<double>(stage.size());
    summary.rms = std::sqrt(squares / static_cast<double>(stage.size()));
    return summary;
}

Json as_json(const Trace& trace, const Options& options) {
    Json stages = Json::array();
    for (const Stage& stage : trace.stages()) {
        const Summary summary = summarise(stage);
        stages.push_back({{"name", stage.name},
                          {"shape", stage.shape()},
                          {"dtype", stage.dtype()},
                          {"axes", stage.axes},
                          {"formula", stage.formula},
                          {"source", stage.source},
                          {"min", json_number(summary.min)},
                          {"max", json_number(summary.max)},
                          {"mean", json_number(summary.mean)},
                          {"rms", json_number(summary.rms)}});
    }
    return {{"model", options.request.model},
            {"dialect", options.dialect},
            {"precision", options.precision},
            {"stages", stages}};
}

std::string as_table(const Trace& trace) {
    std::vector<std::vector<std::string>> rows = {{"stage", "shape", "dtype", "min", "max", "mean", "rms"}};
    for (const Stage& stage : trace.stages()) {
        const Summary summary = summarise(stage);
        rows.push_back({stage.name, to_string(stage.shape()), stage.dtype(), format_number(summary.min),
                        format_number(summary.max), format_number(summary.mean), format_number(summary.rms)});
    }
    return text_table(rows, {false, false, false, true, true, true, true});
}

struct Result {
    Family family;
    Trace trace;
    std::string tokens, inputs;  // for the metadata: the ids, and everything that the pass was given
};

void create_folder(const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error || !std::filesystem::is_directory(folder))
        throw Error(Fault::unreadable, folder + ": cannot be made, expected a folder for a file for each line");
}

/// "[[1,6,2],[1,5,2]]", one list per sample; several segments are joined.
std::string tokens_as_json(const std::vector<ModelInput>& segments) {
    Json samples = Json::array();
    for (Index b = 0; b < segments.front().batch(); ++b) {
        Json sample = Json::array();
        for (const ModelInput& segment : segments)
            for (Index t = 0; t < segment.length(); ++t) sample.push_back(segment.tokens[b * segment.length() + t]);
        samples.push_back(sample);
    }
    return samples.dump();
}

/// The answers stand at the places of [MASK], in order, and 0 elsewhere.
IndexTensor labels_of_answers(const ModelInput& input, const std::vector<std::string>& answers,
                              const Tokenizer& tokenizer) {
    const Index places = input.mask_positions.empty() ? 0 : input.mask_positions.extent(0);
    LOCUS_CHECK(answers.empty() || places > 0,
                "--answer is the word for a [MASK], found none in --text and no " +
                    (tokenizer.mask_id() ? "id " + std::to_string(*tokenizer.mask_id()) : std::string("such id")) +
                    " in --tokens");
    LOCUS_CHECK(static_cast<Index>(answers.size()) == places, "--answer is given " + std::to_string(answers.size()) +
                                                                  " times for " + std::to_string(places) +
                                                                  " places of [MASK], expected once for each");
    IndexTensor labels(input.tokens.shape());
    for (Index n = 0; n < places; ++n) {
        const std::string& answer = answers[static_cast<std::size_t>(n)];
        const Tokens tokens = tokenizer.encode(answer);
        const auto [before, behind] = tokenizer.frame();
        LOCUS_CHECK(tokens.ids.size() == before + behind + 1, "--answer \"" + answer + "\" is " +
                                                                  std::to_string(tokens.ids.size() - before - behind) +
                                                                  " pieces of the vocabulary, expected one");
        labels[input.mask_positions[2 * n] * input.length() + input.mask_positions[2 * n + 1]] = tokens.ids[before];
    }
    return labels;
}

/// grad.*: the backward pass from the loss of the masked words.
template <class Scalar>
Result backward(const Options& options) {
    LOCUS_CHECK(options.device == "cpu", "--gradients are computed on the processor, expected --device cpu");
    LOCUS_CHECK(options.dialect != "paper", "--gradients follow the code's p2c, expected another --dialect than paper");
    const Checkpoint checkpoint = open_checkpoint(resolve_model(options.request.model));
    const Family family = family_of(checkpoint.config_json, checkpoint.config_file.string());
    if (family != Family::deberta)
        throw Error(Fault::unsupported,
                    checkpoint.folder.string() + ": --gradients are those of a deberta, found " + to_string(family));
    PreparedInput prepared =
        prepare_input(options.request, checkpoint.folder, family, {"tokens", "mask", "token_types", "labels"});
    ModelInput& input = prepared.segments.front();
    LOCUS_CHECK(options.answers.empty() || input.labels.empty(),
                "--answer and labels both say what is predicted, expected one of them");
    if (input.labels.empty())
        input.labels = labels_of_answers(input, options.answers, *open_tokenizer(checkpoint.folder));
    const auto& labels = input.labels.values();
    LOCUS_CHECK(std::any_of(labels.begin(), labels.end(), [](std::int64_t label) { return label != 0; }),
                "--gradients need a word to be predicted: a [MASK] with its --answer, or --labels other than 0");
    return {family,
            gradient_trace<Scalar>(parse_deberta_config(checkpoint.config_json, checkpoint.config_file.string()),
                                   checkpoint.weights, input, DebertaOptions::of(parse_dialect(options.dialect)),
                                   options.stages.empty() ? StageFilter() : StageFilter(options.stages)),
            tokens_as_json(prepared.segments), inputs_as_json(prepared.segments)};
}

/// A head of fine-tuning that the file holds and no stage shows; empty where there is none.
std::string about_unread_head(const WeightSource& weights, const std::vector<std::string>& stages) {
    const auto of_classes = [](const std::string& name) { return name.find("classifier.") != std::string::npos; };
    if (std::any_of(stages.begin(), stages.end(), of_classes)) return "";
    std::string tensors;
    for (const std::string& tensor : head_tensors(weights)) tensors += (tensors.empty() ? "" : ", ") + tensor;
    return tensors.empty() ? "" : "note: " + tensors + ": no stage shows this head, which is not computed";
}

template <class Scalar>
Result forward(const cli::Command& program, const Options& options) {
    // A missing device is told before the model is read.
    const Operations<Scalar>& compute =
        options.device == "cuda" ? cuda::library().operations<Scalar>() : cpu_operations<Scalar>();
    const Checkpoint checkpoint = open_checkpoint(resolve_model(options.request.model));
    // Double precision is asked for to have exact numbers.
    const bool fast = !options.reference && options.precision == "f32";
    const auto model = open_model_of<Scalar>(checkpoint, compute, fast ? ForwardPath::fast : ForwardPath::reference);
    const PreparedInput prepared = prepare_input(options.request, checkpoint.folder, model->family(),
                                                 model->input_names(), token_types_for(checkpoint, model->family()));
    if (!prepared.ignored.empty())
        cli::say(program, about_ignored(prepared, options.request.input_file, model->input_names()));
    if (options.request.segment > 0) check_memory(*model, prepared.segments, parse_dialect(options.dialect));
    const StageFilter wanted = options.stages.empty() ? StageFilter() : StageFilter(options.stages);
    try {
        const Dialect dialect = parse_dialect(options.dialect);
        Trace trace = model->forward(prepared.segments, dialect, wanted);
        for (const std::string& warning : model->warnings()) cli::say(program, "warning: " + warning);
        if (const std::string note =
                about_unread_head(*checkpoint.weights, model->stage_names(prepared.segments, dialect));
            !note.empty())
            cli::say(program, note);
        return {model->family(), std::move(trace), tokens_as_json(prepared.segments),
                inputs_as_json(prepared.segments)};
    } catch (const Error& error) {
        // The same wrong value is the user's on the command line and the file's in a file.
        const std::string sentence = error.what();
        if (error.fault() != Fault::usage || options.request.input_file.empty() || sentence.starts_with("stages:"))
            throw;
        throw Error(Fault::unreadable, options.request.input_file + ": " + sentence);
    }
}

void check_options(const Options& options) {
    parse_dialect(options.dialect);
    LOCUS_CHECK(options.precision == "f32" || options.precision == "f64",
                "--precision is \"" + options.precision + "\", expected f32 or f64");
    LOCUS_CHECK(options.device == "cpu" || options.device == "cuda",
                "--device is \"" + options.device + "\", expected cpu or cuda");
    LOCUS_CHECK(options.answers.empty() || options.gradients, "--answer goes with --gradients");
    LOCUS_CHECK(!options.reference || !options.gradients, "--reference goes with a forward pass, found --gradients");
    if (options.text_file.empty()) return;
    LOCUS_CHECK(!options.gradients && options.device == "cpu" && options.precision == "f32",
                "--text-file goes with a forward pass in f32 on the processor, found another");
    const ModelRequest& request = options.request;
    LOCUS_CHECK(request.texts.empty() && request.tokens.empty() && request.input_file.empty() && request.mask.empty() &&
                    request.labels.empty() && request.segment == 0,
                "--text-file is the input, found --text, --tokens, --input, --mask, --labels or --segment beside it");
}

void check_format(const std::string& out) {
    for (const char* other : {".npz", ".npy", ".csv", ".json", ".txt", ".pt", ".bin"})
        LOCUS_CHECK(std::filesystem::path(out).extension() != other,
                    "--out is \"" + printable(out) +
                        "\", expected a name that ends in .safetensors: a trace is written in no other format");
}

/// The files that --out must not be: the inputs, and what makes up the model.
std::vector<std::string> what_is_read(const Options& options) {
    std::vector<std::string> files = {options.request.input_file, options.text_file};
    for (std::string& file : files_of_model(resolve_model(options.request.model))) files.push_back(std::move(file));
    return files;
}

void write_out(const std::string& file, const Options& options, const Result& result) {
    std::map<std::string, std::string> metadata = {{"model", options.request.model},
                                                   {"family", to_string(result.family)},
                                                   {"dialect", options.dialect},
                                                   {"precision", options.precision},
                                                   {"tokens", result.tokens}};
    if (!result.inputs.empty()) metadata["inputs"] = result.inputs;
    write_trace(file, result.trace, metadata);
}

std::string file_of_line(Index number) { return "line-" + std::to_string(number) + ".safetensors"; }

/// A run before may have left files of other lines, which a program that reads the whole folder would take for this
/// run's.
void warn_of_other_files(const cli::Command& program, const std::string& folder, const cli::TextLines& texts) {
    std::set<std::string> written, others;
    for (const auto& line : texts.lines) written.insert(file_of_line(line.number));
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("line-") && name.ends_with(".safetensors") && !written.contains(name)) others.insert(name);
    }
    if (others.empty()) return;
    cli::say(program, "warning: " + printable(folder) + " also holds " + std::to_string(others.size()) +
                          (others.size() == 1 ? " file" : " files") + " that this run did not write, such as " +
                          printable(*others.begin()));
}

/// Every line of a file is a text of its own; they pass the model together where it can.  Table and JSON are printed
/// line by line, files go into the folder --out.
int trace_lines(const cli::Command& program, const Options& options) {
    const Checkpoint checkpoint = open_checkpoint(resolve_model(options.request.model));
    const Family family = family_of(checkpoint.config_json, checkpoint.config_file.string());
    const auto tokenizer = open_tokenizer(checkpoint.folder);
    const TokenTypes types = token_types_for(checkpoint, family);
    const cli::TextLines texts = cli::read_text_lines(program, options.text_file, [&](const std::string& text) {
        return input_of_texts({text}, *tokenizer, family, types);
    });
    const auto model = open_model_of<float>(checkpoint, cpu_operations<float>(),
                                            options.reference ? ForwardPath::reference : ForwardPath::fast);
    const StageFilter wanted = options.stages.empty() ? StageFilter() : StageFilter(options.stages);
    const auto show = [&](std::size_t n, Trace& trace) {
        const std::vector<ModelInput> input = {texts.inputs[n]};
        const Result result{family, std::move(trace), tokens_as_json(input), inputs_as_json(input)};
        if (!options.out.empty()) {
            if (n == 0) create_folder(options.out);
            write_out(options.out + "/" + file_of_line(texts.lines[n].number), options, result);
        }
        if (options.json) {
            Json object = as_json(result.trace, options);
            object["line"] = texts.lines[n].number;
            std::cout << object.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
        } else if (options.out.empty()) {
            std::cout << "line " << texts.lines[n].number << ": " << one_line(texts.lines[n].text) << '\n'
                      << as_table(result.trace);
        }
    };
    cli::run_lines(program, texts, *model, parse_dialect(options.dialect), wanted, show);
    if (!options.out.empty()) warn_of_other_files(program, options.out, texts);
    return 0;
}

Result run(const cli::Command& program, const Options& options) {
    if (options.gradients) return options.precision == "f64" ? backward<double>(options) : backward<float>(options);
    return options.precision == "f64" ? forward<double>(program, options) : forward<float>(program, options);
}

}  // namespace

int main(int argc, char** argv) {
    cli::Command program(
        "Runs a model and keeps every stage under its name.\n"
        "  locus trace --model tiny-v3 --text \"a new [MASK] opened beside the new [MASK].\" --stages \"layer.2.c2?\"\n"
        "  locus trace --model tiny-txl --text \"tom went to the bakery\" --segment 3 --stages \"segment.1.*.probs\"\n"
        "  locus trace --model tiny-v3 --text \"the capital of france is [MASK].\" --gradients --answer paris "
        "--stages \"grad.layer.*.?2?\"\n"
        "  locus trace --model DIR --tokens 1,6,56,2 --precision f64 --out trace.safetensors\n"
        "Stages inside layers are always those of the readable formulas; where only outputs of layers, words and "
        "logits\n"
        "are asked for, a DeBERTa takes the fast path, which agrees up to rounding (--reference: never).\n"
        "A single text has no segment term ef in an XLNet that was not fine-tuned for classes; what transformers'\n"
        "tokenizer gives it as token_type_ids goes into --input as token_types.\n"
        "Without --out it prints a table.  Exit status: 2 wrong usage, 3 unreadable, 4 unsupported.",
        "locus trace");
    Options options;
    program
        .option("--model", options.request.model,
                "model folder, or the name of a built-in one; needed but for --list-stages")
        .not_empty();
    program
        .option("--text", options.request.texts,
                "one or several texts; one [SEP] between words makes a pair: \"a premise [SEP] a hypothesis\"")
        .one_value_each();
    program
        .option(
            "--text-file", options.text_file,
            "a text on each line of this file, - reads the standard input; --out is then a folder, --json a line for "
            "each")
        .not_empty();
    program.option("--tokens", options.request.tokens, "token ids instead of text: 1,2,3").not_empty();
    program.option("--mask", options.request.mask, "1 = visible, for --tokens: 1,1,0").not_empty();
    program
        .option("--labels", options.request.labels,
                "for --tokens: original ids of masked tokens, 0 elsewhere: 0,56,0; transfo-xl, xlnet: the id that each "
                "token predicts, where 0 is an id too")
        .not_empty();
    program.flag(
        "--gradients", options.gradients,
        "deberta: the backward pass instead, grad.<stage> and grad.<parameter> of the masked words' mean loss; needs "
        "--answer or --labels");
    program.option("--answer", options.answers, "with --gradients: the word for each [MASK], in order")
        .one_value_each();
    program
        .option(
            "--input", options.request.input_file,
            "a safetensors file with tokens [B,T] and, where wanted, mask (1 = visible), token_types, labels; xlnet: "
            "perm_mask, target_mapping; tokens.0, tokens.1, ... are segments")
        .not_empty();
    program
        .option("--segment", options.request.segment,
                "cut the text into segments of so many tokens and hand on the memory (transfo-xl and xlnet with a "
                "mem_len)")
        .within(1, 1000000);
    program.option("--stages", options.stages, "globs (*, ?, [0-3]) separated by commas; all stages if absent")
        .not_empty();
    program.flag(
        "--reference", options.reference,
        "deberta: compute by the readable formulas even where no stage inside a layer is asked for; f64 always "
        "does");
    program.option("--precision", options.precision, "f32 or f64").shows_default();
    program.option("--dialect", options.dialect, "reference, official, hf or paper").shows_default();
    program.option("--device", options.device, "cpu or cuda").shows_default();
    program.option("--out", options.out, "write the stages to this safetensors file").not_empty();
    program.flag("--list-stages", options.list_stages,
                 "print the name, axes and formula of every stage there is, and exit");
    program.flag("--json", options.json, "print JSON instead of a table");
    return cli::run_program(program, cli::name_each_value(argc, argv, "--text"), [&] {
        if (options.list_stages) {
            std::cout << (options.json ? cli::stages_as_json().dump(2) + "\n" : cli::stages_as_table());
            return 0;
        }
        LOCUS_CHECK(program.given("--model"), "--model is required; locus trace --help lists the options");
        check_options(options);
        check_apart({options.out}, what_is_read(options));
        check_format(options.out);
        if (!options.text_file.empty()) return trace_lines(program, options);
        for (std::string& text : options.request.texts) text = cli::readable_text(program, text);
        const Result result = run(program, options);
        if (!options.out.empty()) write_out(options.out, options, result);
        if (options.json)
            std::cout << as_json(result.trace, options).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
        else if (options.out.empty())
            std::cout << as_table(result.trace);
        return 0;
    });
}
