// Mistakes of the catalogue on the Compare page: what each changes, the pass of a port that makes one, and one sentence
// where it cannot be made.
#include <catch2/catch.hpp>
#include <cstdlib>

#include <nlohmann/json.hpp>
#include <set>

#include "core/io/safetensors.h"
#include "core/io/subprocess.h"
#include "cuda/library.h"
#include "cuda/runtime.h"
#include "tests/files.h"
#include "tests/run_program.h"
#include "viewer/data/deberta_session.h"
#include "viewer/data/mistake_source.h"
#include "viewer/plots/difference.h"
#include "viewer/plots/stage_slice.h"
#include "viewer/state/state.h"
#include "viewer/state/state_fields.h"

namespace locus::test::test_mistakes {

namespace {

const DebertaSession& session() {
    static const DebertaSession opened("tiny-v3");
    return opened;
}

CompareAnswer compared(const CompareState& state, const std::string& text = State().text) {
    Request request;
    request.text = text;
    request.compare = state.request();
    const auto answer = session().answer(request);
    REQUIRE(answer->error.empty());
    return answer->compare;
}

MistakeQuery query() { return {"tiny-v3", State().text, "", "", Dialect::official}; }

/// While it lives, temporary files of this process go to a folder of its own, where those of other tests never come.
struct OwnTemporaryFiles {
    OwnTemporaryFiles() { ::setenv("TMPDIR", folder.path().c_str(), 1); }
    ~OwnTemporaryFiles() { before.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1); }
    std::string before = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "";
    TemporaryFolder folder;
};

}  // namespace

TEST_CASE("mistakes: mistake 1 of the official code is the paper's dialect in every stage", "[viewer][mistakes]") {
    CompareState state;
    state.a.dialect = Dialect::paper;
    state.b = {};
    state.b.mistake = "1";
    for (const char* stage : {"layer.0.p2c", "layer.2.probs", "layer.5.output", "emd.1.output"}) {
        state.stage = stage;
        const CompareAnswer answer = compared(state);
        INFO(stage << ": " << answer.error);
        REQUIRE(answer.error.empty());
        CHECK(answer.stage == stage);
        const Difference found = difference_of(matrix_of(answer.a, 0, 0), matrix_of(answer.b, 0, 0), answer.allowed);
        CHECK(found.outside == 0);
    }
    state.a.dialect = Dialect::official;
    state.stage = "layer.0.p2c";
    const CompareAnswer answer = compared(state);
    REQUIRE(answer.mistake_b);
    CHECK(answer.mistake_b->number == 1);
    CHECK(answer.mistake_b->first == "layer.0.p2c");
    state.b.mistake = "7";
    CHECK(compared(state).mistake_b->number == 7);
    state.b.exact = true;
    CHECK(std::string(compared(state).b.dtype()) == "F64");
    CHECK(std::string(compared(state).a.dtype()) == "F32");
    const CompareAnswer other = compared(state, "tom went home");  // not the mistake of the sentence before
    REQUIRE(other.words_b.size() < answer.words_b.size());
    CHECK(other.b.shape().back() == static_cast<Index>(other.words_b.size()));
    CHECK(answer.mistake_b->wrong == 792);  // 6 heads of 12 x 12 without the diagonal
    CHECK_FALSE(answer.mistake_a);
}

TEST_CASE("mistakes: what cannot be made is one sentence, and the page goes on", "[viewer][mistakes]") {
    CompareState state;
    const auto trouble = [&](const std::string& mistake) {
        state.b = {};
        state.b.mistake = mistake;
        return compared(state).error;
    };
    CHECK_THAT(trouble("999"), Catch::Contains("mistake 999 is not in the catalogue"));
    CHECK_THAT(trouble("56"), Catch::Contains("mistake 56 is one of roformer"));
    CHECK_THAT(trouble("22"), Catch::Contains("mistake 22 cannot be made with this model and input"));
    CHECK_THAT(trouble("seven"), Catch::Contains("the mistake is \"seven\""));
    CHECK(trouble("7").empty());
}

TEST_CASE("mistakes: a model that cannot be opened is one sentence, and no file stays behind", "[viewer][mistakes]") {
    const OwnTemporaryFiles files;
    MistakeQuery gone = query();
    gone.model = "/no/such/model";
    const MistakeEffects list = list_mistakes(gone);
    CHECK(list.mistakes.empty());
    CHECK(list.query == gone);
    CHECK_THAT(list.error, Catch::Contains("/no/such/model"));
    CHECK_THROWS_WITH(make_mistake(gone, "7", false), Catch::Contains("/no/such/model"));
    CHECK_THROWS_WITH(make_mistake(query(), "7.99", false), Catch::Contains("7.99"));
    make_mistake(query(), "7", false);
    CHECK(fs::is_empty(files.folder.path()));
}

TEST_CASE("mistakes: the page makes and lists what locus kit mistake does, to the last bit", "[viewer][mistakes]") {
    const TemporaryFolder folder;
    const auto written = [&](std::vector<std::string> words) {
        words.insert(words.end(), {"--json", "--model", "tiny-v3", "--out", (folder / "trace").string()});
        words.insert(words.begin(), "mistake");
        const Outcome outcome = run("locus-kit", words);
        REQUIRE(outcome.status == 0);
        return std::pair(nlohmann::json::parse(outcome.out), read_trace(folder / "trace"));
    };
    const auto check_same = [](const MadeMistake& made, const std::pair<nlohmann::json, Trace>& theirs) {
        const auto& [json, trace] = theirs;
        CHECK(made.number == json.at("mistake"));
        CHECK(made.way == json.at("way"));
        CHECK(made.name == json.at("name"));
        CHECK(made.how == json.at("how"));
        CHECK(made.first == json.at("changed").at(0).at("stage"));
        CHECK(made.wrong == json.at("changed").at(0).at("wrong"));
        CHECK(made.size == json.at("changed").at(0).at("size"));
        CHECK(made.stages == static_cast<Index>(json.at("changed").size()));
        REQUIRE(made.trace.names() == trace.names());
        for (const Stage& stage : trace.stages()) {
            const Stage& own = made.trace.at(stage.name);
            INFO(stage.name);
            REQUIRE(own.shape() == stage.shape());
            CHECK(std::string(own.dtype()) == stage.dtype());
            for (Index n = 0; n < stage.size(); ++n) REQUIRE(own.at(n) == stage.at(n));
        }
    };
    check_same(make_mistake({"tiny-v3", "a text", "1,6,2", "1,1,0", Dialect::hf}, "7.2", true),
               written({"7.2", "--tokens", "1,6,2", "--mask", "1,1,0", "--dialect", "hf", "--precision", "f64"}));
    // A mask belongs to tokens; a text has its own.
    check_same(make_mistake({"tiny-v3", "a text", "", "1,1,0", Dialect::paper}, "7", false),
               written({"7", "--text", "a text", "--dialect", "paper"}));

    const Outcome outcome = run("locus-kit", {"mistake", "--list", "--json", "--model", "tiny-v3", "--text",
                                              query().text, "--dialect", "official"});
    REQUIRE(outcome.status == 0);
    const nlohmann::json theirs = nlohmann::json::parse(outcome.out).at("mistakes");
    const MistakeEffects list = list_mistakes(query());
    REQUIRE(list.mistakes.size() == theirs.size());
    const char* const states[] = {"changes", "changes nothing", "cannot be made"};
    for (std::size_t n = 0; n < theirs.size(); ++n) {
        INFO("mistake " << list.mistakes[n].number);
        CHECK(list.mistakes[n].number == theirs[n].at("number"));
        REQUIRE(list.mistakes[n].ways.size() == theirs[n].at("ways").size());
        for (std::size_t w = 0; w < list.mistakes[n].ways.size(); ++w) {
            const conformance::WayEffect& way = list.mistakes[n].ways[w];
            const nlohmann::json& said = theirs[n].at("ways")[w];
            CHECK(way.how == said.at("how"));
            CHECK(said.at("state") == states[static_cast<std::size_t>(way.effect)]);
            CHECK(way.first.name == said.value("stage", ""));
            CHECK(way.first.wrong == said.value("wrong", Index{0}));
            CHECK(way.first.size == said.value("size", Index{0}));
            CHECK(way.needs == said.value("needs", ""));
        }
    }
}

TEST_CASE("mistakes: work that nobody wants any more ends at the next stage", "[viewer][mistakes]") {
    for (const int patience : {1, 3, 40, 400}) {
        int asked = 0;
        const CancelToken stop = [&] { return ++asked >= patience; };
        const MistakeEffects list = list_mistakes(query(), stop);
        CHECK(list.mistakes.empty());
        CHECK(list.error == Cancelled().what());
        CHECK(asked == patience);  // never asked again once it said yes
        asked = 0;
        if (patience < 100) CHECK_THROWS_AS(make_mistake(query(), "7", false, stop), Cancelled);
        if (patience < 100) CHECK(asked == patience);
    }
}

TEST_CASE("mistakes: the list knows what changes something, what does not, and what cannot be made",
          "[viewer][mistakes]") {
    const MistakeEffects list = list_mistakes(query());
    REQUIRE(list.error.empty());
    REQUIRE(list.find(1));
    CHECK(list.find(1)->effect() == conformance::Effect::changes);
    CHECK(list.find(1)->ways.front().first.name == "layer.0.p2c");
    CHECK(list.find(9)->effect() == conformance::Effect::nothing);
    CHECK(list.find(22)->effect() == conformance::Effect::impossible);
    CHECK_FALSE(list.find(22)->ways.front().needs.empty());
    CHECK_FALSE(list.find(56));
    conformance::MistakeEffect several{7,
                                       "",
                                       {{"a", conformance::Effect::impossible},
                                        {"b", conformance::Effect::nothing},
                                        {"c", conformance::Effect::changes}}};
    CHECK(several.best_way() == 2);
    several.ways.pop_back();
    CHECK(several.best_way() == 1);
}

TEST_CASE("mistakes: words become a sentence, names and symbols stay as they are written", "[viewer][compare]") {
    CHECK(as_sentence("the mask does not hide") == "The mask does not hide.");
    CHECK(as_sentence("a residual is left out") == "A residual is left out.");
    CHECK(as_sentence("scores are scaled by 1 - p") == "Scores are scaled by 1 - p.");
    CHECK(as_sentence("of heads") == "Of heads.");
    for (const char* named : {"p2c is left out", "bd is left out", "k_r and q_r are exchanged", "n is counted as 2",
                              "u, v and the bias of segments", "ac transposed", "1 for original, 0 for replaced"})
        CHECK(as_sentence(named) == std::string(named) + ".");
}

TEST_CASE("mistakes: the search finds numbers by their beginning and words anywhere, group by group",
          "[viewer][mistakes]") {
    const auto entries = read_mistake_list(mistake_list_file());
    const auto count = [&](const std::string& typed) {
        std::size_t all = 0;
        for (const MistakeGroup& group : mistake_groups(entries, "deberta", typed)) all += group.entries.size();
        return all;
    };
    CHECK(count("") == entries.size());
    CHECK(count("16") == 1);
    CHECK(count("1") == 55);  // 1, 10 ... 19 and 100 ... 143
    CHECK(count("MASK softmax nowhere") == 0);
    const auto groups = mistake_groups(entries, "deberta", "");
    CHECK(groups.front().title == "index and layout");
    CHECK(groups.front().entries.size() == 25);
    REQUIRE(groups.size() > 3);
    const int ranges[][2] = {{1, 25}, {26, 38}, {39, 55}};
    for (std::size_t n = 0; n < 3; ++n) {
        CHECK(groups[n].entries.front()->number == ranges[n][0]);
        CHECK(groups[n].entries.back()->number == ranges[n][1]);
    }
    std::set<std::string> titles;
    for (const MistakeGroup& group : groups) CHECK(titles.insert(group.title).second);
    for (const char* other : {"of RoFormer", "of Transformer-XL", "of XLNet"}) CHECK(titles.count(other) == 1);
    const auto norms = mistake_groups(entries, "deberta", "norm eps");
    REQUIRE_FALSE(norms.empty());
    for (const MistakeEntry* entry : norms.front().entries)
        CHECK_THAT(entry->name + entry->symptom + entry->betrays + entry->evidence, Catch::Contains("eps"));
    CHECK(parse_mistake("7.2") == std::pair(7, 2));
    CHECK(parse_mistake("7") == std::pair(7, 0));
    for (const char* bad : {"", "0", "7.", "7.0", "x", "7.2.1", "-1", "7 ", "7x2", "7.-1"})
        CHECK_FALSE(parse_mistake(bad));
}

TEST_CASE("compare: a side may have a sentence of its own; other lengths are said in words", "[viewer][mistakes]") {
    CompareState state;
    state.b = {};
    state.b.text = "a new [MASK] opened beside the old [MASK].";
    state.stage = "layer.1.probs";
    CompareAnswer answer = compared(state);
    REQUIRE(answer.error.empty());
    CHECK(answer.words_a.size() == answer.words_b.size());
    CHECK(answer.words_a != answer.words_b);
    CHECK(difference_of(matrix_of(answer.a, 0, 0), matrix_of(answer.b, 0, 0), answer.allowed).outside > 0);

    state.b.text = "tom went";
    answer = compared(state);
    CHECK_THAT(answer.error, Catch::Contains("A has 12 tokens and B") && Catch::Contains("layer.1.probs") &&
                                 Catch::Contains("only stages of one shape"));
    REQUIRE_FALSE(answer.stages.empty());
    state.stage = "layer.0.k_r";
    answer = compared(state);
    CHECK(answer.error.empty());
    CHECK(difference_of(matrix_of(answer.a, 0, 0), matrix_of(answer.b, 0, 0), 0).largest == 0);
}

TEST_CASE("compare: a side may be another model; a folder without one is named", "[viewer][mistakes]") {
    CompareState state;
    state.b = {};
    state.b.model = (fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3").string();
    CompareAnswer answer = compared(state);
    CHECK(answer.error.empty());
    CHECK(difference_of(matrix_of(answer.a, 0, 0), matrix_of(answer.b, 0, 0), 0).largest == 0);
    state.b.model = "/no/such/model";
    CHECK_THAT(compared(state).error, Catch::Contains("/no/such/model"));
    state.b.model = "tiny-roformer";
    CHECK_FALSE(compared(state).error.empty());
    state.b = {};
    state.b.gpu = true;
    answer = compared(state);
    if (cuda::library_error().empty()) {
        CHECK(answer.error.empty());
        return;
    }
    CHECK_THAT(answer.error, Catch::Contains("no CUDA device") && Catch::Contains("--device cpu"));
    CHECK(answer.fault == Fault::unsupported);
}

TEST_CASE("compare: choosing a mistake makes B of it and asks for its first stage", "[viewer][mistakes]") {
    State state;
    state.compare.b.file = "some.safetensors";
    state.compare.make_mistake("7.2");
    CHECK(state.compare.from_model());
    CHECK(state.compare.b.mistake == "7.2");
    CHECK(state.compare.opens_first);
    state = State();
    REQUIRE(state.compare.b.dialect != state.compare.a.dialect);  // the page opens on the paper's p2c
    state.compare.make_mistake("26");
    CHECK(state.compare.b.dialect == state.compare.a.dialect);
    state.compare.b.dialect = Dialect::hf;
    state.compare.make_mistake("7");
    CHECK(state.compare.b.dialect == Dialect::hf);  // chosen since
    state.compare.make_mistake("");
    CHECK_FALSE(state.compare.opens_first);
    set_field(state, "compare.b.mistake=16.1");
    set_field(state, "compare.a.text=tom went");
    set_field(state, "compare.b.device=cuda");
    set_field(state, "compare.zoo=yes");
    set_field(state, "reduce_motion=yes");
    CHECK(state.compare.b.mistake == "16.1");
    CHECK(state.compare.a.text == "tom went");
    CHECK(state.compare.b.gpu);
    CHECK(state.compare.shows_mistakes);
    CHECK(state.reduce_motion);
}

TEST_CASE("changed cells: they glow once when a switch is turned, not when another place is opened",
          "[viewer][mistakes][law]") {
    Matrix<double> right = Matrix<double>::Zero(2, 3), wrong = right;
    wrong(0, 1) = 1;
    wrong(1, 2) = std::nan("");
    ChangedCells cells;
    CHECK_FALSE(cells.update("p2c", "official", right, 0, 10));
    CHECK(cells.sentence().empty());
    CHECK(cells.update("p2c", "paper", wrong, 0, 20));
    CHECK(cells.sentence() == "2 of 6 cells changed");
    CHECK(cells.cells()(0, 1) == 1);
    CHECK(cells.cells()(0, 0) == 0);
    CHECK(cells.strength(20) == 1);
    CHECK(cells.strength(20.3) == Approx(0.5));
    CHECK(cells.strength(20.6) == 0);
    CHECK(cells.strength(30) == 0);
    CHECK_FALSE(cells.update("c2p", "hf", right, 0, 40));  // another place
    CHECK(cells.sentence().empty());
    CHECK_FALSE(cells.update("c2p", "hf", wrong, 0, 50));  // the same setting: the sentence changed, not the switch
    CHECK_FALSE(cells.update("c2p", "paper", wrong, 0, 60));
    CHECK(cells.sentence() == "0 of 6 cells changed");
    CHECK(cells.strength(60) == 0);
    wrong(1, 2) = 0.1;
    CHECK_FALSE(cells.flash(right, wrong, 1, 65));  // exactly what is allowed
    CHECK(cells.flash(right, wrong, 0.5, 70));
    CHECK(cells.count() == 1);
    CHECK_FALSE(cells.flash(right, Matrix<double>::Zero(3, 2), 0, 80));
}

}  // namespace locus::test::test_mistakes
