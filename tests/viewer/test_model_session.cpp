// Which model and sentence the pages of the other families show, and what stands in the way.
#include "viewer/data/model_session.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/changed_model.h"
#include "tests/temporary_folder.h"
#include "viewer/data/deberta_session.h"
#include "viewer/data/rotary_sentence.h"

namespace locus::test::test_model_session {

using locus::test::TemporaryFolder;

namespace {

using Source = FamilySession<RotarySentence>;

/// Follows a choice until it is answered.
void wait_for(Source& source, const ModelChoice& choice) {
    for (int n = 0; n < 2000 && !source.settled(choice); ++n) {
        source.update(choice);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    REQUIRE(source.settled(choice));
}

}  // namespace

TEST_CASE("family session: a sentence is tokenised by the page's own model", "[viewer][rope]") {
    Source source([] {});
    ModelChoice choice = State().choices.roformer;
    wait_for(source, choice);
    REQUIRE(source.shown());
    CHECK(source.shown()->words() == std::vector<std::string>{"[CLS]", "a", "new", "[MASK]", "opened", "beside", "the",
                                                              "new", "[MASK]", ".", "[SEP]"});
    const std::uint64_t first = source.serial();
    choice.text = "the store";
    wait_for(source, choice);
    CHECK(source.shown()->words() == std::vector<std::string>{"[CLS]", "the", "store", "[SEP]"});
    CHECK(source.serial() == first + 1);
}

TEST_CASE("family session: what cannot be shown is one sentence, and the picture before it stays", "[viewer][rope]") {
    Source source([] {});
    const ModelChoice good = State().choices.roformer;
    wait_for(source, good);
    const auto refused = [&](const ModelChoice& choice, const std::string& words) {
        wait_for(source, choice);
        CHECK_THAT(source.error(), Catch::Contains(words));
        REQUIRE(source.shown());
        CHECK(source.shown()->length() == 11);
    };
    ModelChoice choice = good;
    choice.text = "  \t ";
    refused(choice, "the text is empty");
    choice.text.clear();
    for (int n = 0; n < 600; ++n) choice.text += "store ";
    refused(choice, "602 tokens but the model's max_position_embeddings is 256");
    choice = good;
    choice.tokens = "2,7,x";
    refused(choice, "whole numbers");
    choice = good;
    choice.model = "tiny-v3";
    refused(choice, "family deberta, expected roformer");
    choice.model = "nothing/of/the/kind";
    refused(choice, "nothing/of/the/kind");
    wait_for(source, good);
    CHECK(source.error().empty());
}

TEST_CASE("family session: an answer to the choice before does not settle the newest one", "[viewer][rope]") {
    std::atomic<int> answers = 0;
    Source source([&] { ++answers; });
    const ModelChoice first = State().choices.roformer;
    ModelChoice second = first;
    second.text = "the store";
    source.update(first);
    for (int n = 0; n < 2000 && answers == 0; ++n) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    // Asks for the second and is given the first, unless this thread rests so long meanwhile that the second is there.
    source.update(second);
    REQUIRE(source.shown());
    const bool late = source.shown()->length() == 4;
    CHECK(source.shown()->length() == (late ? 4 : 11));
    CHECK(source.settled(first) == !late);
    CHECK(source.settled(second) == late);
    wait_for(source, second);
    CHECK(source.shown()->length() == 4);
}

TEST_CASE("family session: one token is a sentence", "[viewer][rope]") {
    Source source([] {});
    ModelChoice choice = State().choices.roformer;
    choice.tokens = "40";
    wait_for(source, choice);
    CHECK(source.error().empty());
    REQUIRE(source.shown());
    CHECK(source.shown()->words() == std::vector<std::string>{"a"});
    CHECK(source.shown()->attention(0, 0)(0, 0) == 1);
}

TEST_CASE("family session: without a tokenizer numbers are read, and a text says so", "[viewer][rope]") {
    const TemporaryFolder folder;
    for (const char* file : {"config.json", "pytorch_model.bin"})
        std::filesystem::copy(resolve_model("tiny-roformer") / file, folder / file);
    Source source([] {});
    ModelChoice choice = State().choices.roformer;
    choice.model = folder.path().string();
    wait_for(source, choice);
    CHECK_THAT(source.error(), Catch::Contains("--tokens"));
    CHECK(source.fault() == Fault::unsupported);
    choice.tokens = "2,40,453,3";
    choice.mask = "1,1,1,0";
    wait_for(source, choice);
    CHECK(source.error().empty());
    REQUIRE(source.shown());
    CHECK(source.shown()->words() == std::vector<std::string>{"2", "40", "453", "3"});
    CHECK(source.shown()->attention(1, 2)(1, 3) == 0);
}

TEST_CASE("family session: a model goes to the page of its family", "[viewer]") {
    State state;
    CHECK_FALSE(show_model(state, "tiny-v3"));
    CHECK(state.page == "attention");
    for (const auto& [model, page] : {std::pair{"tiny-roformer", "rope"}, std::pair{"tiny-txl", "transformer-xl"},
                                      std::pair{"tiny-xlnet", "permutation"}}) {
        choice_of_page(state, page)->tokens = "1,2,3";  // of the model before
        choice_of_page(state, page)->mask = "1,1,0";
        CHECK(show_model(state, model));
        CHECK(choice_of_page(state, page)->tokens.empty());
        CHECK(choice_of_page(state, page)->mask.empty());
        CHECK(state.page == page);
        CHECK(choice_of_page(state, page)->model == model);
        CHECK(&edited_sentence(state) == &choice_of_page(state, page)->text);
        choice_of_page(state, page)->tokens = "1,2";
        CHECK(&edited_sentence(state) == &choice_of_page(state, page)->tokens);
    }
    state.page = "decoder";
    CHECK(&edited_sentence(state) == &state.text);
    state.tokens = "1,2";
    CHECK(&edited_sentence(state) == &state.tokens);
    const TemporaryFolder folder;
    std::filesystem::copy(resolve_model("tiny-roformer") / "pytorch_model.bin", folder / "pytorch_model.bin");
    std::ofstream(folder / "config.json") << R"({"model_type": "gpt2"})";
    CHECK_THROWS_WITH(show_model(state, folder.path().string()), Catch::Contains("gpt2"));
    CHECK(state.page == "decoder");
}

TEST_CASE("model session: a model that does not fit is refused by its size, and no weight is read", "[viewer]") {
    struct Sizes : WeightSource {
        std::optional<Shape> shape(const std::string& name) const override {
            return name == "a" ? Shape{100'000, 1000} : Shape{1000};
        }
        std::vector<std::string> names() const override { return {"a", "b"}; }
        std::string location() const override { return "big/model.safetensors"; }
        Matrix<float> rows_f32(const std::string&, Index, Index) const override { throw std::logic_error("read"); }
        Matrix<double> rows_f64(const std::string&, Index, Index) const override { throw std::logic_error("read"); }
    };
    CHECK_NOTHROW(check_room(Sizes(), 400'004'000));
    try {
        check_room(Sizes(), 300e6);
        FAIL("was not refused");
    } catch (const Error& error) {
        CHECK(error.fault() == Fault::memory);
        CHECK(error.what() ==
              std::string("big/model.safetensors: its weights take 400 MB as float32, and there is room "
                          "for 300 MB, expected a smaller model"));
    }
}

TEST_CASE("deberta session: a pass says where it is", "[viewer]") {
    const DebertaSession session("tiny-v3");
    CHECK(session.progress().empty());
    std::vector<std::string> said;
    const auto listen = [&] {
        if (said.empty() || said.back() != session.progress()) said.push_back(session.progress());
        return false;
    };
    Request request{"a new [MASK] opened.", "", ""};
    request.layer = 2;
    REQUIRE(session.answer(request, listen)->error.empty());
    CHECK(said == std::vector<std::string>{"layer 1 of 6", "layer 2 of 6", "layer 3 of 6"});
    said.clear();
    request.decoder = true;
    REQUIRE(session.answer(request, listen)->error.empty());
    CHECK(said.front() == "layer 1 of 6");
    CHECK(said.back() == "mask decoder");
    CHECK(session.progress().empty());
}

TEST_CASE("deberta session: a piece that the vocabulary lacks is said to be read as [UNK]", "[viewer]") {
    const DebertaSession session("tiny-v3");
    Request request{"the \u6f22 caf\u00e9 [MASK]", "", ""};
    const auto answer = session.answer(request);
    REQUIRE(answer->error.empty());
    REQUIRE(answer->unknown.size() == answer->labels.size());
    const auto at = std::find(answer->labels.begin(), answer->labels.end(), "\u6f22 [UNK]") - answer->labels.begin();
    REQUIRE(at < std::ssize(answer->labels));
    CHECK(std::count(answer->labels.begin(), answer->labels.end(), "\u00e9 [UNK]") == 1);
    CHECK(std::count(answer->unknown.begin(), answer->unknown.end(), true) == 2);
    CHECK(answer->unknown[static_cast<std::size_t>(at)]);
    // Replaced by [MASK] it is a mask, and brings the piece back afterwards.
    request.masked = {static_cast<Index>(at)};
    const auto masked = session.answer(request);
    CHECK(masked->labels[static_cast<std::size_t>(at)] == "[MASK]");
    CHECK(masked->behind[static_cast<std::size_t>(at)] == "\u6f22 [UNK]");
    CHECK_FALSE(masked->unknown[static_cast<std::size_t>(at)]);
    const auto by_ids = session.answer({"", "1,5,3,2", ""});
    CHECK(by_ids->labels == std::vector<std::string>{"[CLS]", "the", "[UNK]", "[SEP]"});
    CHECK(by_ids->unknown == std::vector<bool>{false, false, true, false});
    // A tokenizer that names the unknown piece itself is not asked to name it twice.
    const auto roformer = open_tokenizer(resolve_model("tiny-roformer"));
    CHECK(label_of_piece(roformer.get(), 1, "[UNK]") == "[UNK]");
    CHECK(label_of_piece(nullptr, 1, "1") == "1");
    CHECK(unknown_name(roformer.get(), 56).empty());
}

TEST_CASE("deberta session: a fine-tuned model says its classes by their names, the likeliest first", "[viewer]") {
    Request request{"", "3,17,4,9", ""};
    request.decoder = true;
    const auto classes_of = [&](const fs::path& model) {
        const auto answer = DebertaSession(model.string()).answer(request);
        REQUIRE(answer->error.empty());
        for (const Classes& classes : answer->decoder.classes) {
            double sum = 0;
            for (const ClassScore& one : classes.best) sum += one.probability;
            CHECK(std::ssize(classes.best) == classes.count);
            CHECK(std::abs(sum - 1) <= 1e-12);
            CHECK(std::is_sorted(classes.best.begin(), classes.best.end(),
                                 [](const auto& a, const auto& b) { return a.probability > b.probability; }));
        }
        return answer;
    };
    const auto text = classes_of(kOracle / "hf_deberta_v2_text_classes" / "model");
    REQUIRE(text->decoder.classes.size() == 1);
    CHECK(text->decoder.classes_warning.empty());
    const TemporaryFolder renamed;
    copy_changed(kOracle / "hf_deberta_v2_text_classes" / "model", renamed / "two",
                 {{"id2label", {{"0", "yes"}, {"1", "no"}}}});
    CHECK_THAT(classes_of(renamed / "two")->decoder.classes_warning, Catch::Contains("id2label names 2 classes"));
    const Classes& nli = text->decoder.classes.front();
    CHECK(nli.of == Classes::Of::text);
    const auto logits = text->trace.at("classifier.logits").as<float>();
    const std::vector<std::string> names = {"entailment", "neutral", "contradiction"};
    REQUIRE(nli.best.size() == 3);
    for (std::size_t c = 0; c < 3; ++c) {
        const auto found =
            std::find_if(nli.best.begin(), nli.best.end(), [&](const ClassScore& one) { return one.name == names[c]; });
        REQUIRE(found != nli.best.end());
        CHECK(found->logit == double{logits[static_cast<Index>(c)]});
    }

    const auto tokens = classes_of(kOracle / "hf_deberta_v1_token_classes" / "model");
    REQUIRE(tokens->decoder.classes.size() == 4);  // no tokenizer: a token is called by its number
    CHECK(tokens->decoder.classes[1].of == Classes::Of::token);
    CHECK(tokens->decoder.classes[1].token == 1);
    CHECK(tokens->decoder.classes[1].best.size() == 5);
    CHECK(tokens->decoder.classes[1].best.front().name.starts_with("LABEL_"));

    const TemporaryFolder folder;
    copy_changed(kOracle / "hf_deberta_v2_short" / "model", folder / "answers", nlohmann::json::object(),
                 {{"qa_outputs.weight", {2, 12}}, {"qa_outputs.bias", {2}}});
    const auto answers = classes_of(folder / "answers");
    REQUIRE(answers->decoder.classes.size() == 2);
    CHECK(answers->decoder.classes[0].of == Classes::Of::begin);
    CHECK(answers->decoder.classes[1].of == Classes::Of::end);
    const auto of_tokens = answers->trace.at("classifier.token_logits").as<float>();
    for (std::size_t end = 0; end < 2; ++end) {
        Index best = 0;
        of_tokens.matrix(0).col(static_cast<Index>(end)).maxCoeff(&best);
        CHECK(answers->decoder.classes[end].best.front().name == answers->labels[static_cast<std::size_t>(best)]);
    }
    CHECK(classes_of(kOracle / "hf_deberta_v2_short" / "model")->decoder.classes.empty());

    // Of many classes the ten likeliest; a name is one line whatever the file says.
    copy_changed(kOracle / "hf_deberta_v2_short" / "model", folder / "many",
                 {{"id2label", {{"0", "a\nb"}, {"1", "b"}}}},
                 {{"pooler.dense.weight", {12, 12}},
                  {"pooler.dense.bias", {12}},
                  {"classifier.weight", {300, 12}},
                  {"classifier.bias", {300}}});
    const auto many = DebertaSession((folder / "many").string()).answer(request);
    REQUIRE(many->decoder.classes.size() == 1);
    const Classes& ten = many->decoder.classes.front();
    const auto all = many->trace.at("classifier.logits").as<float>();
    CHECK(ten.count == 300);
    REQUIRE(ten.best.size() == 10);
    CHECK(ten.best.front().logit == double{*std::max_element(all.values().begin(), all.values().end())});
    CHECK(std::count_if(all.values().begin(), all.values().end(),
                        [&](float logit) { return double{logit} > ten.best.back().logit; }) == 9);
    for (const ClassScore& one : ten.best)
        CHECK((one.name.starts_with("class ") || one.name == "a b" || one.name == "b"));
}

TEST_CASE("deberta session: an answer in slices is the answer of one call, to the last bit", "[viewer][law]") {
    const DebertaSession whole("tiny-v3"), sliced("tiny-v3");
    Request request{"a new [MASK] opened beside the new [MASK] .", "", ""};
    std::vector<Request> all(4, request);
    all[1].overview = true;
    all[2].decoder = all[2].at_input = true;
    all[3].compare = CompareRequest{};
    all[3].compare->stage = "layer.1.probs";
    all[3].compare->b.text = "a new shop opened beside the new mall .";
    for (const Request& one : all) {
        const auto expected = whole.answer(one);
        std::shared_ptr<const Answer> found;
        int pauses = 0;
        while (!found) {
            try {
                found = sliced.answer(one, {}, [] { return true; });
            } catch (const Paused&) {
                REQUIRE(++pauses < 1000);
                CHECK_THAT(sliced.progress(), Catch::Contains("layer ") || Catch::Contains("mask decoder"));
            }
        }
        CHECK(pauses > 5);
        REQUIRE(found->error.empty());
        REQUIRE(found->trace.names() == expected->trace.names());
        for (const Stage& stage : expected->trace.stages()) {
            INFO(stage.name);
            const Stage& other = found->trace.at(stage.name);
            Index differing = 0;
            for (Index n = 0; n < stage.size(); ++n) differing += other.at(n) != stage.at(n);
            CHECK(differing == 0);
        }
        CHECK(found->compare.stages == expected->compare.stages);
        REQUIRE((found->overview != nullptr) == one.overview);
        REQUIRE(found->decoder.masks.size() == expected->decoder.masks.size());
        for (std::size_t n = 0; n < expected->decoder.masks.size(); ++n) {
            CHECK(found->decoder.masks[n].with_decoder.front().piece ==
                  expected->decoder.masks[n].with_decoder.front().piece);
            CHECK(found->decoder.masks[n].at_input.front().piece == expected->decoder.masks[n].at_input.front().piece);
        }
    }
}

TEST_CASE("family session: a trace holds all layers until their matrices are too many", "[viewer]") {
    CHECK(traced_layer(1, 2, 4) == -1);
    CHECK(traced_layer(4'000'000, 2, 4) == -1);
    CHECK(traced_layer(4'000'001, 2, 4) == 2);
    CHECK(traced_layer(4'000'001, 9, 4) == 3);
    CHECK(traced_layer(4'000'001, -1, 4) == 0);
}

}  // namespace locus::test::test_model_session
