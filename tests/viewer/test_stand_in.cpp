// A page that cannot show the opened model says so, and which one it shows instead.
#include "viewer/data/stand_in.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/viewer/run_view.h"
#include "viewer/data/model_session.h"
#include "viewer/pages/page_names.h"

namespace locus::test::test_stand_in {

namespace {

using Json = nlohmann::json;

std::string oracle_model(const std::string& name) {
    return std::string(LOCUS_SOURCE_DIR) + "/tests/oracle/" + name + "/model";
}

std::string said_of(State state, const std::string& page) {
    state.page = page;
    const auto stand_in = stand_in_of(state);
    return stand_in ? stand_in->reason() + " " + stand_in->result() : "";
}

}  // namespace

TEST_CASE("stand-in: nothing is said where nothing was opened", "[viewer]") {
    for (const PageName& page : page_names()) {
        INFO(page.name);
        CHECK(said_of({}, page.name).empty());
    }
}

TEST_CASE("stand-in: every page of another family names both models", "[viewer]") {
    State state;
    REQUIRE(show_model(state, oracle_model("hf_xlnet_uni") + "/"));
    const std::string told = "needs DeBERTa; the opened model is XLNet: the built-in tiny-v3 is shown instead";
    for (const char* page : {"positions", "attention", "decoder", "compare"})
        CHECK(said_of(state, page) == "This page " + told);
    CHECK(said_of(state, "start") ==
          "These pictures need DeBERTa; the opened model is XLNet: the built-in tiny-v3 is shown instead");
    CHECK(said_of(state, "rope") ==
          "This page needs RoFormer; the opened model is XLNet: the built-in tiny-roformer is shown instead");
    CHECK(said_of(state, "transformer-xl") ==
          "This page needs Transformer-XL; the opened model is XLNet: the built-in tiny-txl is shown instead");
    for (const char* page : {"permutation", "text", "conformance", "training"}) CHECK(said_of(state, page).empty());

    state.compare.a.file = state.compare.b.file = "dump.safetensors";  // no model on that page then
    CHECK(said_of(state, "compare").empty());
    // Undo and a copied command bring the choice back, and not what was asked for.
    state.asked_model.clear();
    CHECK_FALSE(said_of(state, "attention").empty());
    // A DeBERTa beside it: both are the user's.
    state.model = state.asked_model = "models/mine";
    CHECK(said_of(state, "attention").empty());
    CHECK(said_of(state, "permutation").empty());
    CHECK(said_of(state, "rope") ==
          "This page needs RoFormer; the opened mine is DeBERTa: the built-in tiny-roformer is shown "
          "instead");
}

TEST_CASE("stand-in: a built-in model that was named counts as opened, until it is gone", "[viewer]") {
    State state;
    REQUIRE(show_model(state, "tiny-xlnet"));
    CHECK(said_of(state, "decoder") ==
          "This page needs DeBERTa; the opened tiny-xlnet is XLNet: the built-in tiny-v3 is shown instead");
    state.choices.xlnet.model = "another";
    state.choices.xlnet = State().choices.xlnet;
    state.asked_model = "another";  // undo took it away
    CHECK(said_of(state, "decoder").empty());
}

TEST_CASE("stand-in: the window says it on every page, and on stderr beside a file", "[viewer][script]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no window can be opened");
        return;
    }
    const TemporaryFolder folder;
    const auto text = [](const std::string& words) { return Json{{"assert", {{"text", words}}}}; };
    const auto no_text = [](const std::string& words) { return Json{{"assert", {{"no_text", words}}}}; };
    const Json whole = Json{{"assert", {{"no_text_clipped", true}}}};
    const std::string in_place = "the built-in tiny-v3 is shown instead";
    Json actions = Json::array({no_text("is shown instead")});
    for (const char* page : {"start", "positions", "attention", "decoder", "compare"})
        actions.insert(actions.end(), {{{"page", page}},
                                       {{"wait", "settled"}},
                                       text("needs DeBERTa; the opened model is XLNet:"),
                                       text(in_place),
                                       whole});
    actions.at(3) = text("These pictures need DeBERTa; the opened model is XLNet:");
    for (const char* page : {"rope", "transformer-xl"})
        actions.insert(actions.end(), {{{"page", page}}, {{"wait", "settled"}}, text("model is XLNet:"), whole});
    for (const char* page : {"permutation", "text", "conformance", "training"})
        actions.insert(actions.end(), {{{"page", page}}, {{"wait", "settled"}}, no_text("is shown instead")});
    // A model that is dropped on the window is one that was opened.
    actions.insert(actions.end(), {{{"drop", oracle_model("hf_deberta_v1")}},
                                   {{"wait", "settled"}},
                                   {{"page", "rope"}},
                                   {{"wait", "settled"}},
                                   text("model is DeBERTa:")});
    write_file(folder / "says.json", Json{{"size", {1280, 800}}, {"actions", actions}}.dump());
    const std::string model = oracle_model("hf_xlnet_uni");
    const Outcome window = view({"--script", "says.json", "--model", model, "--tokens", "1,5,9"}, folder.path());
    INFO(window.err);
    CHECK(window.status == 0);

    const Outcome file = view({"--model", model, "--page", "decoder", "--screenshot", "page.png"}, folder.path());
    CHECK(file.status == 0);
    CHECK_THAT(file.err, Catch::Contains("decoder needs DeBERTa; the opened model is XLNet: " + in_place));
    CHECK(view({"--page", "decoder", "--screenshot", "page.png"}, folder.path()).err.empty());
}

}  // namespace locus::test::test_stand_in
