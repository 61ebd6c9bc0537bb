// The verbs as users and other programs meet them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/compare.h"
#include "core/io/checkpoint.h"
#include "core/io/safetensors.h"
#include "tests/run_program.h"
#include "tests/sanitizers.h"

namespace locus::test::test_cli {

using nlohmann::json;

namespace {

const fs::path kOracle = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle";

json parsed(const Outcome& outcome) {
    INFO(outcome.err);
    REQUIRE(outcome.err.empty());
    return json::parse(outcome.out);
}

/// Puts a NaN into the row of token 5 of the table of words.
void damage_word_table(const fs::path& file) {
    std::string bytes = read_file(file);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    const json entry = json::parse(bytes.substr(8, header))["deberta.embeddings.word_embeddings.weight"];
    const std::size_t cell = 5 * entry["shape"][1].get<std::size_t>() + 3;
    const std::uint32_t nan = 0x7fc00000;
    std::memcpy(bytes.data() + 8 + header + entry["data_offsets"][0].get<std::size_t>() + 4 * cell, &nan, sizeof nan);
    fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
    write_file(file, bytes);
}

/// Traces of one small oracle case, ours and a copy with one value changed.
struct Traces {
    TemporaryFolder folder;
    std::string ours = (folder / "ours.safetensors").string(),
                reference = (kOracle / "ms_deberta_v3_emd/trace.safetensors").string();
    explicit Traces(const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments = {"--model", (kOracle / "ms_deberta_v3_emd/model").string(),
                                              "--input", (kOracle / "ms_deberta_v3_emd/inputs.safetensors").string(),
                                              "--out",   ours};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome outcome = run("locus-trace", arguments);
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
    }
    /// Our trace, changed by `change`, in a new file.
    template <class Change>
    std::string changed(Change change) const {
        Trace copy;
        const Trace original = read_trace(ours);
        for (Stage stage : original.stages()) {
            change(stage);
            copy.add(std::move(stage));
        }
        const std::string file = (folder / "changed.safetensors").string();
        write_trace(file, copy);
        return file;
    }
};

}  // namespace

TEST_CASE("fill: the lines of a file are filled as each alone, and a line without a mask is named", "[cli]") {
    const TemporaryFolder folder;
    const std::string file = (folder / "lines.txt").string();
    write_file(file, "the capital of france is [MASK].\n\na new [MASK] opened.\n");
    // stderr may hold its progress, a line every ten seconds.
    const Outcome filled = run("locus-fill", {"--text-file", file, "--json"});
    REQUIRE(filled.status == 0);
    const json lines = json::parse(filled.out)["lines"];
    REQUIRE(lines.size() == 2);
    CHECK(lines[1]["line"] == 3);
    CHECK(lines[0]["masks"] == parsed(run("locus-fill", {"the capital of france is [MASK].", "--json"}))["masks"]);
    CHECK(lines[1]["masks"] == parsed(run("locus-fill", {"a new [MASK] opened.", "--json"}))["masks"]);
    write_file(file, "a [MASK].\nno blank here\n");
    const Outcome refused = run("locus-fill", {"--text-file", file});
    CHECK(refused.status == 3);
    CHECK_THAT(refused.err, Catch::Contains("line 2: the text has no [MASK]"));
    CHECK(refused.out.empty());
    // Too long for the mask decoder, after lines that are not: nothing of them is printed, as JSON neither.
    std::string words;
    for (int n = 0; n < 140; ++n) words += "store ";
    write_file(file, "a [MASK].\n\n" + words + "[MASK]\n");
    const Outcome long_line = run("locus-fill", {"--text-file", file, "--json"});
    CHECK(long_line.status == 4);
    CHECK(long_line.out.empty());
    CHECK_THAT(long_line.err, Catch::Contains("lines.txt: line 3: the text has "));
    for (const char* option : {"--order", "--segment"})
        CHECK(run("locus-fill", {"--text-file", file, option, "3"}).status == 2);
    CHECK(run("locus-fill", {"--text-file", file, "a [MASK]."}).status == 2);
}

TEST_CASE("fill: lines of a file through every family", "[cli]") {
    const TemporaryFolder folder;
    const std::string file = (folder / "lines.txt").string();
    for (const auto& [model, what] : std::vector<std::pair<std::string, std::string>>{
             {"tiny-roformer", "masks"}, {"tiny-xlnet", "masks"}, {"tiny-txl", "next"}}) {
        INFO(model);
        const bool masked = what == "masks";
        const std::vector<std::string> texts = {masked ? "i love studying [MASK] so [MASK]." : "tom went to the",
                                                masked ? "a new [MASK] opened." : "lucy was"};
        write_file(file, texts[0] + "\n\n" + texts[1] + "\n");
        const Outcome outcome = run("locus-fill", {"--model", model, "--text-file", file, "--json"});
        REQUIRE(outcome.status == 0);
        const json lines = json::parse(outcome.out)["lines"];
        REQUIRE(lines.size() == 2);
        for (std::size_t n = 0; n < 2; ++n) {
            CHECK(lines[n]["line"] == 1 + 2 * n);
            CHECK(lines[n][what] == parsed(run("locus-fill", {"--model", model, texts[n], "--json"}))[what]);
        }
    }
    // One line after it is refused before anything is printed.
    write_file(file, "a [MASK].\nno blank here\n");
    const Outcome refused = run("locus-fill", {"--model", "tiny-xlnet", "--text-file", file});
    CHECK(refused.status == 3);
    CHECK(refused.out.empty());
    CHECK_THAT(refused.err, Catch::Contains("line 2: the text has no [MASK]"));
    CHECK(run("locus-fill", {"--model", "tiny-txl", "--text-file", file, "--segment", "3"}).status == 2);
}

TEST_CASE("fill: blank lines, bytes that are not UTF-8 and control characters in a file", "[cli]") {
    const TemporaryFolder folder;
    const std::string file = (folder / "lines.txt").string();
    write_file(file, "a [MASK].\r\r\n \r\n\r\r\nthe \x1b[31m\xff [MASK]\xff.\n");
    const Outcome filled = run("locus-fill", {"--text-file", file, "--top", "1"});
    CHECK(filled.status == 0);
    CHECK_THAT(filled.out, Catch::Contains("line 1: a [MASK].") && Catch::Contains("line 4: the ?[31m"));
    CHECK(filled.out.find('\x1b') == std::string::npos);
    CHECK_THAT(filled.err, Catch::Contains("lines.txt is not UTF-8: 2 places replaced by U+FFFD, first in line 4"));
}

TEST_CASE("fill and trace: where standard output takes nothing, no further line is computed", "[cli]") {
    if (!fs::exists("/dev/full")) return;
    const TemporaryFolder folder;
    const std::string file = (folder / "lines.txt").string();
    std::string text;
    for (int n = 0; n < 3000; ++n) text += "the capital of france is [MASK] and a new store opened beside it.\n";
    write_file(file, text);
    const std::string behind = " --text-file " + quoted(file) + " >/dev/full";
    for (const char* start : {"locus-fill", "locus-trace --model tiny-v3 --stages mlm.logits"}) {
        INFO(start);
        const auto begin = std::chrono::steady_clock::now();
        const Outcome outcome =
            run_file("/bin/sh", {"-c", "PATH=" + quoted(LOCUS_BINARY_DIR "/bin") + ":$PATH; " + start + behind});
        CHECK(outcome.status == 3);
        CHECK_THAT(outcome.err, Catch::Contains("standard output cannot be written"));
        // All of them take half a minute.
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(8 * kPatience));
    }
}

TEST_CASE("fill: logits without a largest number are refused like NaN", "[cli]") {
    const Checkpoint right = open_checkpoint(fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3");
    const TemporaryFolder folder;
    for (const float value : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
        const fs::path model = folder / (value > 0 ? "up" : "down");
        fs::copy(right.folder, model);
        fs::remove(model / "pytorch_model.bin");
        std::deque<Matrix<float>> kept;
        std::vector<TensorToWrite> tensors;
        for (const std::string& name : right.weights->names()) {
            const Shape shape = right.weights->shape(name).value();
            kept.push_back(right.weights->rows_f32(name, 0, shape.front()));
            if (name == "lm_predictions.lm_head.bias")  // of one word up, of all words down
                kept.back().bottomRows(value > 0 ? 1 : kept.back().rows()).setConstant(value);
            tensors.push_back({name, shape, kept.back().data()});
        }
        write_safetensors(model / "model.safetensors", tensors);
        const Outcome refused = run("locus-fill", {"--model", model.string(), "a [MASK]."});
        INFO(refused.err << refused.out);
        CHECK(refused.status == 3);
        CHECK(refused.out.empty());
        CHECK_THAT(refused.err, Catch::Contains("expected numbers to rank words by"));
    }
}

TEST_CASE("trace: stages inside layers of many lines take the memory of one line", "[cli]") {
    if (kSanitized) return;
    const TemporaryFolder folder;
    const std::string file = (folder / "lines.txt").string();
    std::string line, text;
    for (int n = 0; n < 110; ++n) line += "store ";
    for (int n = 0; n < 40; ++n) text += line + "\n";
    write_file(file, text);
    // One pack of all that 2,048 tokens have would be 17 lines of 19 MB each.
    const Outcome outcome =
        run("locus-trace", {"--model", "tiny-v3", "--text-file", file, "--stages", "layer.*", "--json"},
            "ulimit -v 300000; ");
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') == 40);
}

TEST_CASE("trace: the lines of a file are traced as each alone, a file for each", "[cli]") {
    const TemporaryFolder folder;
    const std::string file = (folder / "lines.txt").string(), out = (folder / "traces").string();
    write_file(file, "a new store opened.\n\nlucy was at the museum.\n");
    const std::vector<std::string> stages = {"--model", "tiny-v3", "--stages", "layer.*.output"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), stages.begin(), stages.end());
        return more;
    };
    REQUIRE(run("locus-trace", with({"--text-file", file, "--out", out})).status == 0);
    const std::string alone = (folder / "alone.safetensors").string();
    REQUIRE(run("locus-trace", with({"--text", "lucy was at the museum.", "--out", alone})).status == 0);
    const Trace found = read_trace(out + "/line-3.safetensors"), expected = read_trace(alone);
    REQUIRE(found.names() == expected.names());
    for (const Stage& stage : expected.stages())
        CHECK(found.at(stage.name).as<float>().values() == stage.as<float>().values());
    CHECK(fs::exists(out + "/line-1.safetensors"));
    CHECK(run("locus-trace", with({"--text-file", file, "--out", out})).err.find("warning") == std::string::npos);
    const std::string shorter = (folder / "shorter.txt").string();
    write_file(shorter, "a new store opened.\n");
    const Outcome again = run("locus-trace", with({"--text-file", shorter, "--out", out}));
    CHECK(again.status == 0);
    CHECK_THAT(again.err, Catch::Contains("also holds 1 file that this run did not write, such as line-3.safetensors"));
    CHECK(run("locus-trace", with({"--text-file", file, "--text", "a store."})).status == 2);
    CHECK(run("locus-trace", with({"--text-file", file, "--mask", "1,0,1"})).status == 2);
    CHECK(run("locus-trace", with({"--text-file", file, "--labels", "0,5,0"})).status == 2);

    // Any family; one without memory of the lines before.
    const std::string logits = "lm.logits";
    const std::vector<std::string> other = {"--model", "tiny-txl", "--stages", logits};
    const auto of_other = [&](std::vector<std::string> more) {
        more.insert(more.begin(), other.begin(), other.end());
        return more;
    };
    REQUIRE(run("locus-trace", of_other({"--text-file", file, "--out", out})).status == 0);
    REQUIRE(run("locus-trace", of_other({"--text", "lucy was at the museum.", "--out", alone})).status == 0);
    CHECK(read_trace(out + "/line-3.safetensors").at(logits).as<float>().values() ==
          read_trace(alone).at(logits).as<float>().values());

    // A line that cannot be traced is named before the first is computed, and nothing is written.
    const std::string none = (folder / "none").string();
    write_file(file, "a [MASK].\nno blank here\n");
    const Outcome refused = run("locus-trace", {"--model", "tiny-v3", "--stages", "mlm.logits_at_positions",
                                                "--text-file", file, "--out", none});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, Catch::Contains("lines.txt: line 2: stages: "));
    CHECK_FALSE(fs::exists(none));
    const Outcome no_stage = run("locus-trace", {"--model", "tiny-xlnet", "--stages", "layer.*.segment_term",
                                                 "--text-file", file, "--out", none});
    CHECK(no_stage.status == 2);
    CHECK_THAT(no_stage.err, Catch::Contains("lines.txt: line 1: stages: "));
    CHECK_FALSE(fs::exists(none));
}

TEST_CASE("fill: the official code's top five, in order, for every mask of the oracle", "[cli][oracle]") {
    const json oracle = json::parse(read_file(kOracle / "tiny_v3_trained/case.json"));
    REQUIRE(oracle["top5"].size() == 4);
    for (const json& expected : oracle["top5"])
        for (const bool emd : {true, false}) {
            std::vector<std::string> arguments = {"--model", "tiny-v3", expected["sentence"], "--json"};
            if (!emd) arguments.push_back("--no-emd");
            const json result = parsed(run("locus-fill", arguments));
            bool found = false;
            for (const json& mask : result["masks"]) {
                if (mask["position"] != expected["position"]) continue;
                found = true;
                REQUIRE(mask["top"].size() == 5);
                for (std::size_t n = 0; n < 5; ++n) {
                    CHECK(mask["top"][n]["piece"] == expected[emd ? "with_emd" : "last_layer_instead"][n]);
                    CHECK(mask["top"][n]["id"] == expected[emd ? "with_emd_ids" : "last_layer_ids"][n]);
                    if (emd)
                        CHECK(std::abs(mask["top"][n]["probability"].get<double>() -
                                       expected["with_emd_probs"][n].get<double>()) <= 6e-5);
                }
            }
            CHECK(found);
        }
}

TEST_CASE("fill: --top says how many, and a person gets a table", "[cli]") {
    CHECK(parsed(run("locus-fill", {"a new [MASK].", "--top", "3", "--json"}))["masks"][0]["top"].size() == 3);
    const Outcome table = run("locus-fill", {"the capital of france is [MASK]."});
    CHECK(table.status == 0);
    CHECK(table.out.find("paris") != std::string::npos);
}

TEST_CASE("tokens: ids with special tokens, pieces without, from the tokenizer's files alone", "[cli]") {
    const std::string folder = (kOracle / "tokenizers/spm").string();
    const json result = parsed(run("locus-tokens", {"--model", folder, "the [MASK] is red.", "--json"}));
    CHECK(result["ids"] == json({1, 5, 6000, 7, 310, 4, 2}));
    CHECK(result["pieces"] == json({"\u2581the", "[MASK]", "\u2581is", "\u2581red", "."}));
    CHECK(parsed(run("locus-tokens", {"--model", folder, "", "--json"}))["ids"] == json({1, 2}));
}

TEST_CASE("trace: table, JSON and file hold the stages that were asked for", "[cli]") {
    const std::vector<std::string> start = {
        "--model", "tiny-v3", "--text", "a new store", "the mall", "--stages", "layer.1.c2?,emd.query.0"};
    const Outcome table = run("locus-trace", start);
    CHECK(table.status == 0);
    CHECK(std::count(table.out.begin(), table.out.end(), '\n') == 4);
    std::vector<std::string> as_json = start;
    as_json.push_back("--json");
    const json result = parsed(run("locus-trace", as_json));
    REQUIRE(result["stages"].size() == 3);
    CHECK(result["stages"][0]["name"] == "layer.1.c2c");
    CHECK(result["stages"][0]["shape"] == json({2, 6, 5, 5}));
    CHECK(result["stages"][0]["axes"] == json({"B", "H", "Tq", "Tk"}));
}

TEST_CASE("trace: a text in brackets is one text", "[cli]") {
    const auto shape = [](std::vector<std::string> texts) {
        std::vector<std::string> arguments = {"--model", "tiny-v3", "--stages", "embeddings.word", "--json"};
        arguments.insert(arguments.end(), texts.begin(), texts.end());
        return parsed(run("locus-trace", arguments))["stages"][0]["shape"];
    };
    CHECK(shape({"--text", "[MASK]"}) == json({1, 3, 192}));  // [CLS] [MASK] [SEP]
    CHECK(shape({"--text", "[MASK]", "[MASK]"}) == json({2, 3, 192}));
    CHECK(shape({"--text", "[MASK]", "--text", "[a,b]"})[0] == 2);
}

TEST_CASE("trace: a NaN shows in every figure of its stage", "[cli]") {
    const TemporaryFolder folder;
    const fs::path model = folder / "model";
    fs::copy(kOracle / "formats/safetensors", model);
    damage_word_table(model / "model.safetensors");
    const Outcome outcome = run("locus-trace", {"--model", model.string(), "--dialect", "hf", "--tokens", "3,5,7",
                                                "--stages", "embeddings.word", "--json"});
    const json stage = json::parse(outcome.out)["stages"][0];
    for (const char* figure : {"min", "max", "mean", "rms"}) CHECK(stage[figure] == "nan");
}

TEST_CASE("trace: the file says which tokens it was made of", "[cli]") {
    const Traces traces;
    const std::string bytes = read_file(traces.ours);
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data(), sizeof size);
    const json metadata = json::parse(bytes.substr(8, size))["__metadata__"];
    CHECK(metadata["precision"] == "f32");
    const json tokens = json::parse(metadata["tokens"].get<std::string>());
    CHECK(tokens.size() == 2);
    CHECK(tokens[0].size() == 7);
}

TEST_CASE("check: our trace passes against the foreign one, in both precisions", "[cli][oracle]") {
    for (const char* precision : {"f32", "f64"}) {
        const Traces traces({"--precision", precision});
        const std::string exact = (kOracle / "ms_deberta_v3_emd/trace_exact.safetensors").string();
        const Outcome outcome = run("locus-check", {exact, traces.ours});
        INFO(outcome.out << outcome.err);
        CHECK(outcome.status == 0);
        // A tolerance of one's own decides instead: float32 is not exact to nine digits.
        const int expected = std::string(precision) == "f64" ? 0 : 1;
        CHECK(run("locus-check", {exact, traces.ours, "--rtol", "1e-9", "--atol", "1e-9"}).status == expected);
    }
}

TEST_CASE("check: the first wrong stage in model order, worst cell, expected and found", "[cli]") {
    const Traces traces;
    const std::string wrong = traces.changed([](Stage& stage) {
        if (stage.name == "layer.1.p2c") std::get<Tensor<float>>(stage.values)[9] += 0.5F;
        if (stage.name == "layer.1.scores") std::get<Tensor<float>>(stage.values)[9] += 0.3F;
    });
    const Outcome outcome = run("locus-check", {traces.reference, wrong, "--json"});
    CHECK(outcome.status == 1);
    const json result = json::parse(outcome.out);
    CHECK(result["pass"] == false);
    CHECK(result["first"]["stage"] == "layer.1.p2c");
    CHECK(result["first"]["index"] == json({0, 0, 1, 2}));
    CHECK(std::abs(result["first"]["found"].get<double>() - result["first"]["expected"].get<double>() - 0.5) < 1e-4);
}

TEST_CASE("check: the tolerance is stated, and expected and found can be told apart", "[cli]") {
    const Traces traces;
    const std::string wrong = traces.changed([](Stage& stage) {
        if (stage.name != "layer.1.p2c") return;
        float& value = std::get<Tensor<float>>(stage.values)[9];
        value = std::nextafter(value, 1e9F);
    });
    CHECK(run("locus-check", {traces.ours, wrong}).out.find("tolerance: derived") == 0);
    const Outcome outcome = run("locus-check", {traces.ours, wrong, "--rtol", "1e-9"});
    CHECK(outcome.status == 1);
    CHECK(outcome.out.find("tolerance: rtol 1e-09, atol 0") == 0);
    CHECK(outcome.out.find("1 of ") != std::string::npos);
    const std::string verdict = outcome.out.substr(outcome.out.rfind(": expected ") + 11);
    const std::size_t comma = verdict.find(", found ");
    REQUIRE(comma != std::string::npos);
    CHECK(verdict.substr(0, comma) != verdict.substr(comma + 8, verdict.size() - comma - 9));
    const json result = json::parse(run("locus-check", {traces.ours, wrong, "--rtol", "1e-9", "--json"}).out);
    CHECK(result["tolerance"] == json({{"derived", false}, {"rtol", 1e-9}, {"atol", 0.0}}));
    CHECK(parsed(run("locus-check", {traces.ours, wrong, "--json"}))["tolerance"] == json({{"derived", true}}));
    const std::string zero = traces.changed([](Stage& stage) {
        if (stage.name == "layer.1.p2c") std::get<Tensor<float>>(stage.values)[9] = -0.0F;
    });
    const std::string of_zero = run("locus-check", {traces.ours, zero}).out;
    CHECK(of_zero.find(", found 0") != std::string::npos);
    CHECK(of_zero.find(", found -0") == std::string::npos);
    for (const std::string word : {"inf", "-1"}) {
        const Outcome refused = run("locus-check", {traces.ours, wrong, "--atol", word});
        CHECK(refused.status == 2);
        CHECK_THAT(refused.err, Catch::Contains("--atol: \"" + word + "\" given, expected 0 or more"));
    }
}

TEST_CASE("check: NaN, wrong shape and wrong dtype are mismatches", "[cli]") {
    const Traces traces;
    const auto status = [&](auto change) {
        return run("locus-check", {traces.reference, traces.changed(change)}).status;
    };
    CHECK(status([](Stage& stage) {
              if (stage.name == "layer.0.v") std::get<Tensor<float>>(stage.values)[0] = std::nanf("");
          }) == 1);
    CHECK(status([](Stage& stage) {
              if (stage.name == "layer.0.v") stage.values = Tensor<float>({1});
          }) == 1);
    CHECK(status([](Stage& stage) {
              if (stage.name == "relative.index") stage.values = Tensor<float>(stage.shape());
          }) == 1);
    CHECK(status([](Stage&) {}) == 0);
    const Outcome nan = run("locus-check", {traces.reference, traces.changed([](Stage& stage) {
                                                if (stage.name == "layer.0.v")
                                                    std::get<Tensor<float>>(stage.values)[0] = std::nanf("");
                                            }),
                                            "--json", "--rtol", "1e9"});
    CHECK(nan.status == 1);
    CHECK(json::parse(nan.out)["first"]["found"] == "nan");
}

TEST_CASE("check: a subset passes, nothing in common does not, unreadable files are status 3", "[cli]") {
    const Traces subset({"--stages", "layer.0.c2p"});
    CHECK(run("locus-check", {subset.reference, subset.ours}).status == 0);
    const Traces other({"--stages", "layer.2.q"});
    CHECK(run("locus-check", {subset.ours, other.ours}).status == 2);
    CHECK(run("locus-check", {subset.reference, "/nowhere.safetensors"}).status == 3);
    CHECK(run("locus-check", {subset.reference}).status == 2);
    CHECK(run("locus-check", {subset.reference, subset.ours, "--rtol", "-1"}).status == 2);
}

TEST_CASE("trace, check, text: what is read is not written over, and stays to the last byte", "[cli][bad]") {
    const TemporaryFolder folder;
    const fs::path model = folder / "model", first = folder / "first.safetensors",
                   second = folder / "second.safetensors";
    fs::copy(kOracle / "hf_deberta_v2_short" / "model", model, fs::copy_options::recursive);
    const std::vector<std::string> trace = {"--model", model.string(), "--tokens", "1,2,3", "--out"};
    const auto with = [&](const fs::path& out) {
        std::vector<std::string> arguments = trace;
        arguments.push_back(out.string());
        return arguments;
    };
    for (const fs::path& file : {first, second}) REQUIRE(run("locus-trace", with(file)).status == 0);
    const fs::path words = write_bytes(folder / "words.txt", "a store opened beside a store\n");
    const auto refused = [](const std::string& program, const std::vector<std::string>& arguments,
                            const fs::path& file) {
        const std::string before = read_file(file);
        const Outcome outcome = run(program, arguments);
        INFO(outcome.err);
        CHECK(outcome.status == 2);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.err.find(file.string() + ": is ") != std::string::npos);
        CHECK(read_file(file) == before);
    };
    for (const char* name : {"config.json", "model.safetensors"})
        refused("locus-trace", with(model / name), model / name);
    for (const char* page : {"--html", "--junit"})
        for (const fs::path& file : {first, second})
            refused("locus-check", {first.string(), second.string(), page, file.string()}, file);
    const fs::path page = write_bytes(folder / "page", "old");
    refused("locus-check", {first.string(), second.string(), "--html", page.string(), "--junit", page.string()}, page);
    refused("locus-text", {"vectors", words.string(), "--out", words.string()}, words);
}

TEST_CASE("every program explains itself and ends with status 0", "[cli]") {
    for (const char* program :
         {"locus-trace", "locus-fill", "locus-classify", "locus-tokens", "locus-check", "locus-view", "locus-bench"}) {
        const Outcome outcome = run(program, {"--help"});
        INFO(program);
        CHECK(outcome.status == 0);
        CHECK(outcome.out.find("locus ") != std::string::npos);
        CHECK(outcome.err.empty());
    }
}

TEST_CASE("locus fill, locus trace: --reference is a switch away and says the same", "[cli][fast]") {
    const std::vector<std::string> sentence = {"--model", "tiny-v3", "the capital of france is [MASK]."};
    const auto with = [](std::vector<std::string> arguments, const std::vector<std::string>& more) {
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--no-emd"}}) {
        const Outcome fast = run("locus-fill", with(sentence, more));
        CHECK(fast.status == 0);
        CHECK(fast.out.starts_with("[MASK] at token "));
        CHECK(fast.out == run("locus-fill", with(with(sentence, more), {"--reference"})).out);
    }
    // Around the layers within rounding, inside them to the last bit.
    const std::string around = "layer.*.output,emd.?.output,mlm.logits", inside = "layer.1.probs,layer.1.output";
    const Trace fast = read_trace(Traces({"--stages", around}).ours);
    const Trace readable = read_trace(Traces({"--stages", around, "--reference"}).ours);
    CHECK(compare(read_trace(Traces({"--precision", "f64"}).ours), fast).pass());
    CHECK(fast.names() == readable.names());
    CHECK_FALSE(fast.at("mlm.logits").as<float>().values() == readable.at("mlm.logits").as<float>().values());
    CHECK(read_file(Traces({"--stages", inside}).ours) == read_file(Traces({"--stages", inside, "--reference"}).ours));
    const Outcome refused = run("locus-trace", {"--model", "tiny-v3", "--tokens", "1,2", "--gradients", "--reference"});
    CHECK(refused.status == 2);
    CHECK(refused.err.find("--reference goes with a forward pass, found --gradients") != std::string::npos);
}

}  // namespace locus::test::test_cli
