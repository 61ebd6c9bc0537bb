// Checkpoints that are not as the built-in ones are: weights of NaN, of another size, other angles, no memory.  The
// pages say so, and say nothing that is not so.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/changed_model.h"
#include "tests/viewer/run_view.h"
#include "viewer/data/memory_text.h"
#include "viewer/data/permutation_sentence.h"
#include "viewer/data/rotary_sentence.h"
#include "viewer/pages/rope/phasors.h"
#include "viewer/state/state.h"

namespace locus::test::test_not_numbers {

namespace {

/// What becomes of a weight; false: it is left out of the copy.
using Change = std::function<bool(const std::string& name, Tensor<float>& values)>;

/// A copy of a built-in model with other weights and fields of config.json.
std::string changed(const TemporaryFolder& folder, const std::string& model, const Change& change,
                    const nlohmann::json& config = nlohmann::json::object()) {
    const fs::path from = fs::path(LOCUS_SOURCE_DIR) / "assets/models" / model, to = folder / ("changed-" + model);
    copy_changed(from, to, config);
    fs::remove(to / "pytorch_model.bin");
    std::vector<std::pair<std::string, Tensor<float>>> all;
    const TensorFile file = open_torch_pickle(from / "pytorch_model.bin");
    for (const TensorEntry& entry : file.entries) {
        Tensor<float> values = read_tensor<float>(entry);
        if (change(entry.name, values)) all.emplace_back(entry.name, std::move(values));
    }
    std::vector<TensorToWrite> tensors;
    for (const auto& [name, values] : all) tensors.push_back({name, values.shape(), values.values().data()});
    write_safetensors(to / "model.safetensors", tensors);
    return to.string();
}

/// A copy of tiny-v3 whose layers are repeated until there are so many.
std::string deep(const TemporaryFolder& folder, Index layers) {
    const fs::path from = fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3", to = folder / "deep";
    copy_changed(from, to, {{"num_hidden_layers", layers}});
    fs::remove(to / "pytorch_model.bin");
    const TensorFile file = open_torch_pickle(from / "pytorch_model.bin");
    const auto has = [&](const std::string& part) {
        return std::any_of(file.entries.begin(), file.entries.end(),
                           [&](const TensorEntry& entry) { return entry.name.find(part) != std::string::npos; });
    };
    Index own = 0;
    while (has("encoder.layer." + std::to_string(own) + ".")) ++own;
    std::vector<std::pair<std::string, Tensor<float>>> all;
    for (const TensorEntry& entry : file.entries) {
        all.emplace_back(entry.name, read_tensor<float>(entry));
        for (Index layer = own; layer < layers; ++layer) {
            const std::string part = "encoder.layer." + std::to_string(layer % own) + ".";
            const std::size_t at = entry.name.find(part);
            if (at == std::string::npos) continue;
            std::string name = entry.name;
            name.replace(at, part.size(), "encoder.layer." + std::to_string(layer) + ".");
            all.emplace_back(name, read_tensor<float>(entry));
        }
    }
    std::vector<TensorToWrite> tensors;
    for (const auto& [name, values] : all) tensors.push_back({name, values.shape(), values.values().data()});
    write_safetensors(to / "model.safetensors", tensors);
    return to.string();
}

/// NaN in the first weight of every tensor of this name.
Change nan_in(const std::string& part) {
    return [part](const std::string& name, Tensor<float>& values) {
        if (name.find(part) != std::string::npos) values[0] = std::numeric_limits<float>::quiet_NaN();
        return true;
    };
}

Change times(const std::string& part, float factor) {
    return [part, factor](const std::string& name, Tensor<float>& values) {
        for (Index n = 0; name.find(part) != std::string::npos && n < values.size(); ++n) values[n] *= factor;
        return true;
    };
}

/// Runs a page and asks what stands on it: "text" or "no_text", and the words.
void check_page(const std::string& model, const std::vector<std::string>& arguments,
                const std::vector<std::pair<std::string, std::string>>& words) {
    if (!has_virtual_display()) return;
    const TemporaryFolder folder;
    std::string actions = R"({"wait": "settled"})";
    for (const auto& [how, text] : words) {
        const std::string wanted = text == "true" ? text : "\"" + text + "\"";
        actions += ", {\"assert\": {\"" + how + "\": " + wanted + "}}";
    }
    write_file(folder / "words.json", "{\"actions\": [" + actions + "]}");
    std::vector<std::string> all = {"--model", model, "--script", "words.json"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = view(all, folder.path());
    INFO(model << ": " << outcome.err);
    CHECK(outcome.status == 0);
}

constexpr const char* kWarning = "infinity";  // one word, wherever its sentence is broken into lines

}  // namespace

TEST_CASE("not numbers: every page says which weight is no number, and ranks no words by it",
          "[viewer][script][not-numbers]") {
    const TemporaryFolder folder;
    check_page(changed(folder, "tiny-roformer", nan_in("embeddings.LayerNorm.weight")), {"--page", "rope"},
               {{"text", "There is no walk"}, {"text", kWarning}, {"text", "Why is this score NaN?"}});
    check_page(changed(folder, "tiny-txl", nan_in("layers.0.dec_attn.qkv_net")), {"--page", "transformer-xl"},
               {{"text", "cannot be ranked"}, {"text", kWarning}});
    check_page(changed(folder, "tiny-xlnet", nan_in("layer.1.rel_attn.q")), {"--page", "permutation"},
               {{"text", "ranked."}, {"text", kWarning}});
    const std::string deberta = changed(folder, "tiny-v3", nan_in("layer.2.attention.self.query_proj.weight"));
    check_page(deberta, {"--page", "decoder"}, {{"text", "ranked."}, {"text", kWarning}});
    check_page(deberta, {"--page", "attention", "--head", "0"},
               {{"text", "same bits as the matrix"}, {"no_text", "differs from the matrix"}, {"text", kWarning}});
    // The warning is the DeBERTa's alone.
    check_page(deberta, {"--page", "permutation"}, {{"no_text", kWarning}});
}

TEST_CASE("not numbers: a comparison tells NaN for NaN from NaN for a number", "[viewer][script][not-numbers]") {
    const TemporaryFolder folder;
    const auto dump = [&](const char* name, std::vector<double> values) {
        Trace trace;
        trace.add("layer.0.scores", Tensor<double>({1, 1, 2, 2}, std::move(values)));
        write_trace(folder / name, trace);
        return (folder / name).string();
    };
    const double none = std::numeric_limits<double>::quiet_NaN();
    const std::string numbers = dump("numbers.safetensors", {1, 2, 3, 4}),
                      all = dump("all.safetensors", {none, none, none, none}),
                      some = dump("some.safetensors", {none, 2, 3, 4}),
                      more = dump("more.safetensors", {none, 2, 3, 5});
    const auto compare = [](const std::string& a, const std::string& b) {
        return std::vector<std::string>{"--compare", a, "--compare", b};
    };
    check_page("tiny-v3", compare(numbers, all),
               {{"text", "Every cell is NaN or infinite in A or in B."}, {"no_text", "every cell differs"}});
    check_page("tiny-v3", compare(all, all), {{"text", "No cell is a number"}, {"no_text", "very cell differs"}});
    check_page("tiny-v3", compare(some, some), {{"text", "NaN or infinite in A and B alike"}});
    check_page("tiny-v3", compare(some, more), {{"text", "1 of 4 cells are farther apart"}, {"text", "1 are NaN"}});
    check_page("tiny-v3", compare(numbers, some), {{"text", "1 of 4 cells are NaN or infinite in A or B;"}});
}

TEST_CASE("not numbers: the chips mark the cell of a dump, and a refusal is about the stage that is named",
          "[viewer][script][not-numbers]") {
    if (!has_virtual_display()) return;
    const TemporaryFolder folder;
    const std::string dump = (folder / "dump.safetensors").string();
    const Outcome traced = run("locus-trace", {"--model", "tiny-v3", "--text", State().text, "--dialect", "official",
                                               "--stages", "layer.0.p2c", "--out", dump});
    REQUIRE(traced.status == 0);
    write_file(folder / "chips.json", R"({"actions": [{"wait": "settled"},
        {"assert": {"field": "compare.cell", "is": "4,7"}}, {"assert": {"field": "cell", "is": "4,7"}}]})");
    const Outcome chips =
        view({"--compare", dump, "--set", "compare.cell=4,7", "--script", "chips.json"}, folder.path());
    INFO(chips.err);
    CHECK(chips.status == 0);
    // The page would open on p2c; the dump has another stage, of another shape.
    Trace other;
    other.add("layer.1.c2p", Tensor<double>({1, 1, 2, 2}, {1, 2, 3, 4}));
    write_trace(folder / "other.safetensors", other);
    write_file(folder / "named.json", R"({"actions": [{"wait": "settled"}, {"assert": {"text": "layer.1.c2p is"}},
        {"assert": {"field": "compare.stage", "is": "layer.1.c2p"}}]})");
    const Outcome named =
        view({"--compare", (folder / "other.safetensors").string(), "--script", "named.json"}, folder.path());
    INFO(named.err);
    CHECK(named.status == 0);
}

TEST_CASE("not numbers: very large and very small numbers stay in their places", "[viewer][script][not-numbers]") {
    const TemporaryFolder folder;
    // The built-in cell, 56.2768 = -12.0831 + 61.1062 + 7.2537, with queries a thousand million times as long.
    const std::string large = changed(folder, "tiny-v3", times("layer.2.attention.self.query_proj", 1e9f));
    check_page(large, {"--page", "attention"},
               {{"text", "5.63e+10"}, {"text", "\u22121.21e+10"}, {"text", "6.11e+10"}, {"no_text_clipped", "true"}});
    check_page("tiny-v3", {"--page", "attention"}, {{"text", "56.2768"}, {"no_text", "e+"}});
    check_page("tiny-v3", {"--page", "attention", "--cell", "1,8"}, {{"text", "Why is this cell 9.66e\u221205?"}});
}

TEST_CASE("not numbers: even attention is drawn on a scale of its own, which the legend says",
          "[viewer][script][not-numbers]") {
    const TemporaryFolder folder;
    const auto even = [](const std::string& name, Tensor<float>& values) {
        for (const char* part : {"query_proj", "key_proj"})
            for (Index n = 0; name.find(part) != std::string::npos && n < values.size(); ++n) values[n] = 0;
        return true;
    };
    check_page(changed(folder, "tiny-v3", even), {"--page", "attention"}, {{"text", "0 \u2026 0.083"}});
    check_page("tiny-v3", {"--page", "attention"}, {{"text", "0 \u2026 1"}});
}

TEST_CASE("not numbers: a model without memory, and one that clamps distances", "[viewer][script][not-numbers]") {
    const TemporaryFolder folder, other;
    const auto same = [](const std::string&, Tensor<float>&) { return true; };
    check_page(changed(folder, "tiny-txl", same, {{"mem_len", 0}}), {"--page", "transformer-xl"},
               {{"text", "keeps no memory"}, {"no_text", "the first segment"}});
    check_page("tiny-txl", {"--page", "transformer-xl", "--set", "memory.segment=0"}, {{"text", "the first segment"}});
    check_page(changed(other, "tiny-txl", same, {{"clamp_len", 4}}),
               {"--page", "transformer-xl", "--set", "memory.side=cell"},
               {{"text", "clamp_len = 4"}, {"text", "4, clamp_len"}});
}

TEST_CASE("not numbers: a stored table of other angles is what the walk takes, and a single plane's bound is constant",
          "[viewer][script][rope][not-numbers]") {
    const TemporaryFolder folder, narrow;
    const std::string model = changed(folder, "tiny-roformer", times("embed_positions.weight", 1.5f));
    ModelChoice choice = State().choices.roformer;
    CHECK_FALSE(open_sentence<RotarySentence>(choice)->has_own_table());
    CHECK(open_sentence<RotarySentence>(choice)->warnings().empty());
    choice.model = model;
    const auto sentence = open_sentence<RotarySentence>(choice);
    REQUIRE(sentence->has_own_table());
    const RopeState state;
    const auto hands = [&](const RowVector<double>& x, Index at) {
        return rotate_hands(hands_of(x, RotaryLayout::interleaved), sentence->angles(), at);
    };
    const Point end = head_to_tail(product_steps(hands(sentence->query(state.layer, state.head, state.query), state.m),
                                                 hands(sentence->key(state.layer, state.head, state.key), state.n)))
                          .back();
    const double score = static_cast<double>(sentence->scores(state.layer, state.head)(state.query, state.key));
    CHECK(end.x / std::sqrt(static_cast<double>(sentence->sizes().head_width)) == Approx(score).epsilon(1e-5));
    check_page(model, {"--page", "rope"}, {{"text", "of its table"}, {"text", "embed_positions.weight"}});
    const TemporaryFolder rounded;  // no more than short floats round
    check_page(changed(rounded, "tiny-roformer", times("embed_positions.weight", 1.005f)), {"--page", "rope"},
               {{"text", "of its table"}, {"text", "the checkpoint's own table"}});
    check_page("tiny-roformer", {"--page", "rope"}, {{"no_text", "of its table"}, {"text", "not monotone"}});
    const auto without = [](const std::string& name, Tensor<float>&) {
        return name.find("embed_positions") == std::string::npos;
    };
    check_page(changed(narrow, "tiny-roformer", without, {{"num_attention_heads", 64}}), {"--page", "rope"},
               {{"text", "it is constant here"}, {"no_text", "not monotone"}});
}

TEST_CASE("not numbers: the permutation page computes the dialect that is chosen", "[viewer][xlnet][not-numbers]") {
    const auto sentence = open_sentence<PermutationSentence>(State().choices.xlnet);
    PermutationRequest request{sentence, cards_of_text("3 2 4 1 5 6 7 8 9", 9), false, 0};
    const auto official = PermutationAnswer::make(request);
    request.dialect = Dialect::paper;
    const auto paper = PermutationAnswer::make(request);
    REQUIRE(official->error.empty());
    REQUIRE(paper->error.empty());
    // The first target sees nothing: the code weighs all keys alike, the paper none.
    CHECK(official->stage(Stream::query, 3, "probs", 0)(0, 4) == Approx(1.0 / 9));
    CHECK(paper->stage(Stream::query, 3, "probs", 0)(0, 4) == 0);
    CHECK(explain_relative_cell<float>(paper->head(Stream::query, 3, 0), 0, 4).softmax.probability == 0);
    CHECK(official->warnings.empty());
    check_page("tiny-xlnet",
               {"--page", "permutation", "--dialect", "reference", "--set", "permutation.order=3 2 4 1 5 6 7 8 9",
                "--set", "permutation.row=2"},
               {{"text", "all its weights are 0."}});
    check_page("tiny-txl", {"--page", "transformer-xl", "--dialect", "hf"}, {{"text", "f32 \u00b7 reference"}});
    check_page("tiny-txl", {"--page", "transformer-xl"}, {{"no_text", "reference"}});
}

TEST_CASE("not numbers: heads of many layers keep a size that can be read, and the wheel shows the last of them",
          "[viewer][script][not-numbers]") {
    if (!has_virtual_display()) return;
    const TemporaryFolder folder;
    const std::string model = deep(folder, 24);
    write_file(folder / "heads.json", R"({"actions": [
        {"wait": "settled"},
        {"assert": {"text": "wheel scrolls"}},
        {"assert": {"no_text_clipped": true}},
        {"wheel": {"at": {"item": "layer 1/head 2"}, "steps": -40}},
        {"hover": "nothing"},
        {"assert": {"no_text_clipped": true}},
        {"click": {"item": "layer 23/head 4"}},
        {"assert": {"field": "layer", "is": "23"}},
        {"assert": {"field": "head", "is": "4"}},
        {"assert": {"field": "attention.picture", "is": "head"}},
        {"set": "layer=0"},
        {"set": "attention.picture=heads"},
        {"wait": "settled"},
        {"click": {"item": "layer 0/head 5"}},
        {"assert": {"field": "head", "is": "5"}}
    ]})");
    const Outcome outcome = view({"--model", model, "--page", "attention", "--set", "attention.picture=heads", "--size",
                                  "1280x800", "--script", "heads.json"},
                                 folder.path());
    INFO(outcome.err);
    CHECK(outcome.status == 0);
}

}  // namespace locus::test::test_not_numbers
