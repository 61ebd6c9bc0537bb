// From what a user asks for to a model's input, and from logits back to words.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/io/model_request.h"
#include "core/io/safetensors.h"
#include "tests/files.h"

namespace locus::test::test_model_request {

using Catch::Contains;

namespace {

const fs::path kModels = fs::path(LOCUS_SOURCE_DIR) / "assets/models";

const std::vector<std::string> kNames = {"tokens",    "mask",           "token_types", "labels",
                                         "perm_mask", "target_mapping", "input_mask",  "memory"};

PreparedInput prepared(const ModelRequest& request, Family family = Family::deberta,
                       const std::string& model = "tiny-v3") {
    return prepare_input(request, kModels / model, family, kNames);
}

std::string refused(const ModelRequest& request, Family family = Family::deberta) {
    return refusal([&] { prepared(request, family); }, Fault::usage);
}

ModelRequest of_text(const std::string& text) {
    ModelRequest request;
    request.texts = {text};
    return request;
}

ModelRequest of_tokens(const std::string& tokens) {
    ModelRequest request;
    request.tokens = tokens;
    return request;
}

std::vector<std::int64_t> values(const IndexTensor& tensor) { return {tensor.values().begin(), tensor.values().end()}; }

using Numbers = std::vector<std::int64_t>;

/// A file of whole numbers under these names, all [1, n].
fs::path input_file(const fs::path& file, const std::vector<std::pair<std::string, Numbers>>& tensors) {
    Trace trace;
    for (const auto& [name, numbers] : tensors)
        trace.add({name, {"B", "T"}, "", "", IndexTensor({1, static_cast<Index>(numbers.size())}, numbers)});
    write_trace(file, trace);
    return file;
}

}  // namespace

TEST_CASE("request: a text becomes tokens, and the places of [MASK] are known", "[request]") {
    const PreparedInput one = prepared(of_text("a new [MASK] opened"));
    REQUIRE(one.segments.size() == 1);
    const ModelInput& input = one.segments.front();
    CHECK(input.tokens.shape() == Shape{1, 6});
    CHECK(input.mask.empty());
    CHECK(values(input.mask_positions) == Numbers{0, 3});
    CHECK(prepared(of_text("a new one")).segments.front().mask_positions.empty());
}

TEST_CASE("request: texts of two lengths are padded, and a mask says where", "[request]") {
    ModelRequest request;
    request.texts = {"a new [MASK] opened", "a new"};
    const ModelInput input = prepared(request).segments.front();
    const auto pad = *open_tokenizer(kModels / "tiny-v3")->pad_id();
    CHECK(input.tokens.shape() == Shape{2, 6});
    CHECK(values(input.mask) == Numbers{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0});
    CHECK(input.tokens[10] == pad);
    CHECK(input.tokens[11] == pad);
    CHECK(values(input.mask_positions) == Numbers{0, 3});

    // XLNet pads on the left.
    const ModelInput left = prepared(request, Family::xlnet, "tiny-xlnet").segments.front();
    CHECK(left.mask[left.length()] == 0);
    CHECK(left.mask[2 * left.length() - 1] == 1);
}

TEST_CASE("request: the mask may be written [MASK] whatever the tokenizer calls it", "[request]") {
    const auto tokenizer = open_tokenizer(kModels / "tiny-xlnet");
    const std::string own = tokenizer->piece(*tokenizer->mask_id());
    REQUIRE(own == "<mask>");
    const Tokens written = encode_text("a [MASK], and [MASK]", *tokenizer, Family::xlnet);
    CHECK(written.ids == encode_text("a <mask>, and <mask>", *tokenizer, Family::xlnet).ids);
    CHECK(std::count(written.ids.begin(), written.ids.end(), *tokenizer->mask_id()) == 2);
    // The mark of a word that SentencePiece puts after a mask goes where the text has no blank, and there alone.
    const Tokens joined = encode_text("a [MASK].", *tokenizer, Family::xlnet);
    const Tokens raw = encode_text("a [MASK].", *tokenizer, Family::deberta);
    CHECK(joined.ids.size() + 1 == raw.ids.size());
    CHECK(encode_text("a [MASK] .", *tokenizer, Family::xlnet).ids ==
          encode_text("a [MASK] .", *tokenizer, Family::deberta).ids);
    CHECK(refusal([&] { encode_text(" \n", *tokenizer, Family::xlnet); }, Fault::usage) ==
          "the text is empty, expected at least one word");
}

TEST_CASE("request: one [SEP] between words makes a pair of texts, with token types", "[request]") {
    const auto tokenizer = open_tokenizer(kModels / "tiny-v3");
    const Tokens pair = tokenizer->encode_pair("a new [MASK]", "opened.");
    const ModelInput input = prepared(of_text("a new [MASK]  [SEP]\topened.")).segments.front();
    CHECK(values(input.tokens) == pair.ids);
    CHECK(values(input.token_types) == Numbers{0, 0, 0, 0, 0, 1, 1, 1});
    CHECK(values(input.mask_positions) == Numbers{0, 3});
    // Another number of them, or none between words, leaves one text, whose tokens have no types.
    for (const char* text : {"a new one", "a [SEP] new [SEP] one", "a new one [SEP]", "[SEP] a new one", "[SEP]"}) {
        INFO(text);
        const ModelInput single = prepared(of_text(text)).segments.front();
        CHECK(single.token_types.empty());
        CHECK(values(single.tokens) == tokenizer->encode(text).ids);
    }
    // A single text beside it is of type 0, and so is padding.
    ModelRequest two;
    two.texts = {"a new one", "a [SEP] store opened"};
    CHECK(values(prepared(two).segments.front().token_types) == Numbers{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1});
}

TEST_CASE("request: pairs of texts under XLNet's names", "[request]") {
    const auto tokenizer = open_tokenizer(kModels / "tiny-xlnet");
    const auto read = [](const std::vector<std::string>& texts) {
        ModelRequest request;
        request.texts = texts;
        return prepared(request, Family::xlnet, "tiny-xlnet").segments.front();
    };
    const ModelInput input = read({"a [MASK]. [SEP] a store"});
    CHECK(values(input.tokens) == values(read({"a <mask>.<sep>a store"}).tokens));
    CHECK(values(input.token_types) == Numbers{0, 0, 0, 0, 1, 1, 1, 2});
    CHECK(readable_piece(tokenizer.get(), input.tokens[3]) == "<sep>");
    CHECK(values(input.target_mapping) == Numbers{0, 1, 0, 0, 0, 0, 0, 0});
    // Padding, on the left, is of a type of its own.
    const ModelInput padded = read({"a [SEP] store", "a [SEP] a new store"});
    REQUIRE(padded.length() == 7);
    CHECK(std::vector<std::int64_t>(padded.token_types.data(), padded.token_types.data() + 7) ==
          Numbers{3, 3, 0, 0, 1, 1, 2});
    // A single text beside a pair has the types of its tokenizer, and alone it has them where the model was fine-tuned.
    const Numbers of_both = {0, 0, 1, 1, 2, 3, 0, 0, 0, 2};
    CHECK(values(read({"a [SEP] store", "a store"}).token_types) == of_both);
    CHECK(read({"a store"}).token_types.empty());
    CHECK(values(input_of_texts({"a store"}, *tokenizer, Family::xlnet, TokenTypes::always).token_types) ==
          Numbers{0, 0, 0, 2});
    const fs::path oracle = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle";
    CHECK(token_types_for(open_checkpoint(kModels / "tiny-xlnet"), Family::xlnet) == TokenTypes::of_pairs);
    CHECK(token_types_for(open_checkpoint(oracle / "hf_xlnet_text_classes/model"), Family::xlnet) ==
          TokenTypes::always);
    CHECK(token_types_for(open_checkpoint(oracle / "hf_deberta_v2_text_classes/model"), Family::deberta) ==
          TokenTypes::of_pairs);
    // Words of a Transformer-XL know no pairs.
    CHECK(prepared(of_text("tom [SEP] went"), Family::transformer_xl, "tiny-txl").segments.front().token_types.empty());
}

TEST_CASE("request: lists of numbers are tokens, masks and labels", "[request]") {
    ModelRequest request = of_tokens("1,6,6000,2");
    request.mask = "1,1,1,0";
    request.labels = "0,0,7,0";
    const ModelInput input = prepared(request).segments.front();
    CHECK(values(input.tokens) == Numbers{1, 6, 6000, 2});
    CHECK(values(input.mask) == Numbers{1, 1, 1, 0});
    CHECK(values(input.labels) == Numbers{0, 0, 7, 0});
    CHECK(values(input.mask_positions) == Numbers{0, 2});
    for (const char* list : {"", "1,", ",1", "1,,2", "1 2", "x", "1,9223372036854775808", "1;2"}) {
        INFO(list);
        ModelRequest bad = of_tokens("1,2");
        bad.mask = list;
        if (*list == 0) continue;  // no mask at all
        CHECK(refused(bad) == "--mask is \"" + std::string(list) + "\", expected whole numbers separated by commas");
    }
}

TEST_CASE("request: exactly one source, and options where they belong", "[request]") {
    CHECK(refused({}) == "expected exactly one of --text, --tokens and --input, found 0");
    ModelRequest both = of_text("a");
    both.tokens = "1";
    CHECK_THAT(refused(both), Contains("found 2"));
    ModelRequest masked = of_text("a");
    masked.mask = "1";
    CHECK(refused(masked) == "--mask goes with --tokens only");
    ModelRequest labelled = of_text("a");
    labelled.labels = "1";
    CHECK(refused(labelled) == "--labels goes with --tokens only");
    ModelRequest cut = of_text("a");
    cut.segment = 2;
    CHECK_THAT(refused(cut), Contains("a model that has memory (transfo-xl, xlnet), found deberta"));
    cut = {};
    cut.input_file = "inputs.safetensors";
    cut.segment = 2;
    CHECK_THAT(refused(cut, Family::xlnet), Contains("names its segments tokens.0, tokens.1"));
}

TEST_CASE("request: a long text is cut into segments", "[request]") {
    ModelRequest request = of_tokens("1,2,3,4,5");
    request.segment = 2;
    const PreparedInput cut = prepared(request, Family::transformer_xl, "tiny-txl");
    REQUIRE(cut.segments.size() == 3);
    CHECK(values(cut.segments[1].tokens) == Numbers{3, 4});
    CHECK(values(cut.segments[2].tokens) == Numbers{5});
    request.labels = "2,3,4,5,0";
    const PreparedInput labelled = prepared(request, Family::transformer_xl, "tiny-txl");
    CHECK(values(labelled.segments[0].labels) == Numbers{2, 3});
    CHECK(values(labelled.segments[2].labels) == Numbers{0});
    CHECK(labelled.segments[2].token_types.empty());
    request.labels = "2,3";
    CHECK(refused(request, Family::transformer_xl) ==
          "--segment: labels has shape [1, 2], expected [1, 5] like tokens");
    ModelInput input = prepared(of_tokens("1,2")).segments.front();
    input.token_types = IndexTensor({1, 2}, {0, 1});
    input.mask_positions = IndexTensor({1, 2}, {0, 1});
    input.memories = {Tensor<double>({1, 1, 1}, {4.0})};
    const std::vector<ModelInput> halves = cut_segments(input, 1);
    CHECK(values(halves[1].token_types) == Numbers{1});
    CHECK(halves[0].mask_positions.empty());
    CHECK(values(halves[1].mask_positions) == Numbers{0, 0});
    CHECK(halves[0].memories.size() == 1);
    CHECK(halves[1].memories.empty());
    CHECK_THAT(refusal([&] { cut_segments(input, 0); }, Fault::usage), Contains("--segment is 0"));
    input.perm_mask = IndexTensor({1, 2, 2}, {0, 0, 0, 0});
    CHECK_THAT(refusal([&] { cut_segments(input, 1); }, Fault::usage), Contains("expected no mask and no [MASK]"));
    input.perm_mask = {};
    input.mask = IndexTensor({1, 2}, {1, 1});
    CHECK_THAT(refusal([&] { cut_segments(input, 1); }, Fault::usage), Contains("expected no mask and no [MASK]"));
    input.tokens = IndexTensor({2, 1}, {1, 1});
    CHECK_THAT(refusal([&] { cut_segments(input, 1); }, Fault::usage), Contains("goes with one text, found 2"));
}

TEST_CASE("request: an input file gives segments, memories, and names that are not used", "[request]") {
    const TemporaryFolder folder;
    ModelRequest request;
    request.input_file =
        input_file(folder / "a.safetensors", {{"tokens", {1, 6000}}, {"mask", {1, 0}}, {"strange", {1}}, {"x.7", {1}}})
            .string();
    const PreparedInput one = prepared(request);
    CHECK(one.ignored == std::vector<std::string>{"strange", "x.7"});
    CHECK(values(one.segments.front().mask) == Numbers{1, 0});
    CHECK(values(one.segments.front().mask_positions) == Numbers{0, 1});

    request.input_file =
        input_file(folder / "b.safetensors", {{"tokens.0", {1, 2}}, {"tokens.1", {3}}, {"memory.1", {4}}}).string();
    const PreparedInput two = prepared(request, Family::transformer_xl, "tiny-txl");
    REQUIRE(two.segments.size() == 2);
    CHECK(values(two.segments[1].tokens) == Numbers{3});
    REQUIRE(two.segments.front().memories.size() == 2);
    CHECK(two.segments.front().memories[0].empty());
    CHECK(two.segments.front().memories[1][0] == 4);

    const auto unreadable = [&](const std::vector<std::pair<std::string, Numbers>>& tensors) {
        request.input_file = input_file(folder / "c.safetensors", tensors).string();
        return refusal([&] { prepared(request); });
    };
    CHECK_THAT(unreadable({{"mask", {1}}}), Contains("no tensor named tokens"));
    CHECK_THAT(unreadable({{"tokens.1", {1}}}), Contains("no tensor named tokens.0"));
    CHECK_THAT(unreadable({{"tokens", {1}}, {"tokens.0", {2}}}), Contains("holds both tokens and tokens.0"));
    CHECK_THAT(unreadable({{"tokens", {1}}, {"memory.0", {2}}, {"memory.00", {3}}}), Contains("memory.00"));
    Trace flat;
    flat.add({"tokens", {"T"}, "", "", IndexTensor({2}, {1, 2})});
    write_trace(folder / "d.safetensors", flat);
    request.input_file = (folder / "d.safetensors").string();
    CHECK_THAT(refusal([&] { prepared(request); }), Contains("tokens is not [B, T]"));
    // Numbers that no file of a pass has are names like any other.
    request.input_file =
        input_file(folder / "e.safetensors", {{"tokens", {1}}, {"tokens.100000", {1}}, {"memory.10000", {1}}}).string();
    CHECK(prepared(request).ignored == std::vector<std::string>{"tokens.100000", "memory.10000"});
}

TEST_CASE("request: XLNet's masks are targets that nobody sees", "[request]") {
    ModelRequest request;
    request.texts = {"a [MASK] and [MASK]", "a [MASK] and a"};
    const ModelInput input = prepared(request, Family::xlnet, "tiny-xlnet").segments.front();
    const Index length = input.length();
    CHECK(input.target_mapping.shape() == Shape{2, 2, length});
    CHECK(input.perm_mask.shape() == Shape{2, length, length});
    Index targets = 0;
    for (const std::int64_t value : input.target_mapping.values()) targets += value;
    CHECK(targets == 3);  // the second sample has one, and a row that stands for no token
    for (Index n = 0; n < input.mask_positions.extent(0); ++n) {
        const Index b = input.mask_positions[2 * n], t = input.mask_positions[2 * n + 1];
        CHECK((input.perm_mask.matrix(b).col(t).array() == 1).all());
    }
    ModelInput plain;
    plain.tokens = IndexTensor({1, 2}, {1, 2});
    predict_masks(plain);
    CHECK(plain.perm_mask.empty());
}

TEST_CASE("request: words are predicted in the order that is asked for", "[request]") {
    const auto tokenizer = open_tokenizer(kModels / "tiny-xlnet");
    ModelInput input = input_of_texts({"a new one and a"}, *tokenizer, Family::xlnet);
    const std::vector<Index> order = predict_in_order(input, {"one", "new"}, *tokenizer);
    REQUIRE(order.size() == 2);
    CHECK(order[0] > order[1]);
    const auto hidden = input.perm_mask.matrix();
    CHECK(hidden(order[1], order[0]) == 0);  // the second sees the first,
    CHECK(hidden(order[0], order[1]) == 1);  // and not the other way around
    CHECK(hidden(order[0], order[0]) == 1);
    CHECK(input.target_mapping.matrix()(0, order[0]) == 1);
    CHECK_THAT(refusal(
                   [&] {
                       predict_in_order(input, {"one", "one"}, *tokenizer);
                   },
                   Fault::usage),
               Contains("names \"one\" twice"));
    CHECK_THAT(refusal([&] { predict_in_order(input, {"opened"}, *tokenizer); }, Fault::usage),
               Contains("names \"opened\", expected words of the text"));
    ModelInput two = input_of_texts({"a new", "a new"}, *tokenizer, Family::xlnet);
    CHECK_THAT(refusal([&] { predict_in_order(two, {"new"}, *tokenizer); }, Fault::usage), Contains("one text"));
}

TEST_CASE("request: the best words are those of the largest logits, with shares of all", "[request]") {
    RowVector<float> logits(4);
    logits << 1, 3, -2, 2;
    const std::vector<Guess> best = best_words(logits, nullptr, 3);
    REQUIRE(best.size() == 3);
    CHECK(best[0].id == 1);
    CHECK(best[0].piece == "1");  // no tokenizer: the number
    CHECK(best[1].id == 3);
    CHECK(best[2].id == 0);
    const double sum = std::exp(1) + std::exp(3) + std::exp(-2) + std::exp(2);
    CHECK(best[0].probability == Approx(std::exp(3) / sum).epsilon(1e-12));
    CHECK(best_words(logits, nullptr, 9).size() == 4);
    const auto tokenizer = open_tokenizer(kModels / "tiny-v3");
    const std::int64_t word = tokenizer->encode("new").ids[1];
    CHECK(tokenizer->piece(word) == "\u2581new");
    CHECK(readable_piece(tokenizer.get(), word) == "new");
}

}  // namespace locus::test::test_model_request
