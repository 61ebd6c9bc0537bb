// The bug zoo of the Compare page: what another program makes of a pass, and one sentence where it cannot.
#include <catch2/catch.hpp>

#include <fstream>
#include <set>

#include "core/io/safetensors.h"
#include "cuda/library.h"
#include "core/io/subprocess.h"
#include "cuda/runtime.h"
#include "tests/files.h"
#include "viewer/data/deberta_session.h"
#include "viewer/data/mistake_source.h"
#include "viewer/plots/changed_cells.h"
#include "viewer/plots/difference.h"
#include "viewer/plots/stage_slice.h"
#include "viewer/state/state.h"
#include "viewer/state/state_fields.h"

namespace locus::test::test_bug_zoo {

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

ZooQuery query() { return {"tiny-v3", State().text, "", "", Dialect::official}; }

/// A program that does what these lines of shell say.
fs::path script(const TemporaryFolder& folder, const std::string& lines) {
    const fs::path file = folder / "locus-kit";
    std::ofstream(file) << "#!/bin/sh\n" << lines << "\n";
    fs::permissions(file, fs::perms::owner_all);
    return file;
}

Index left_behind() {
    Index count = 0;
    for (const auto& entry : fs::directory_iterator(fs::temp_directory_path()))
        count += entry.path().filename().string().starts_with("locus-view-");
    return count;
}

}  // namespace

TEST_CASE("bug zoo: mistake 1 of the official code is the paper's dialect in every stage", "[viewer][bugzoo]") {
    CompareState state;
    state.a.dialect = Dialect::paper;
    state.b = {};
    state.b.mistake = "1";
    for (const char* stage : {"layer.0.p2c", "layer.2.probs", "layer.5.output", "emd.1.output"}) {
        state.stage = stage;
        const CompareAnswer answer = compared(state);
        INFO(stage << ": " << answer.trouble);
        REQUIRE(answer.trouble.empty());
        CHECK(answer.stage == stage);
        const Difference found = difference_of(sheet_of(answer.a, 0, 0), sheet_of(answer.b, 0, 0), answer.allowed);
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

TEST_CASE("bug zoo: what cannot be made is one sentence, and the page goes on", "[viewer][bugzoo]") {
    CompareState state;
    const auto trouble = [&](const std::string& mistake) {
        state.b = {};
        state.b.mistake = mistake;
        return compared(state).trouble;
    };
    CHECK_THAT(trouble("99"), Catch::Contains("mistake 99 is not in the catalogue"));
    CHECK_THAT(trouble("56"), Catch::Contains("mistake 56 is one of roformer"));
    CHECK_THAT(trouble("22"), Catch::Contains("mistake 22 cannot be made with this model and input"));
    CHECK_THAT(trouble("seven"), Catch::Contains("the mistake is \"seven\""));
    CHECK(trouble("7").empty());
}

TEST_CASE("bug zoo: a program that is missing, dies or says nonsense is named, and no file stays behind",
          "[viewer][bugzoo]") {
    const TemporaryFolder folder;
    const Index before = left_behind();
    const auto refused = [&](const fs::path& program) {
        const ZooList list = list_mistakes(program, query());
        CHECK(list.mistakes.empty());
        std::string sentence;
        try {
            make_mistake(program, query(), "7", false);
        } catch (const Error& error) {
            sentence = error.what();
        }
        CHECK_FALSE(list.trouble.empty());
        CHECK_FALSE(sentence.empty());
        return sentence;
    };
    CHECK_THAT(refused("/no/such/locus-kit"), Catch::Contains("cannot be started"));
    CHECK_THAT(refused(script(folder, "kill -SEGV $$")), Catch::Contains("locus-kit was ended by signal 11"));
    CHECK_THAT(refused(script(folder, "echo 'locus kit: out of cheese' >&2; exit 3")),
               Catch::Equals("locus kit: out of cheese"));
    CHECK_THAT(refused(script(folder, "echo hello")), Catch::Contains("is no JSON"));
    CHECK_THAT(refused(script(folder, "echo '{}'")), Catch::Contains("not as expected"));
    CHECK_THAT(refused(script(folder, "echo '{\"mistake\":7,\"way\":1,\"name\":\"n\",\"how\":\"\",\"changed\":[]}'")),
               Catch::Contains("mistake.safetensors"));  // it wrote none
    CHECK(left_behind() == before);
}

TEST_CASE("bug zoo: the program is asked for what the page shows, and every word of its answer is kept",
          "[viewer][bugzoo]") {
    const TemporaryFolder folder;
    Trace trace;
    trace.add("layer.1.scores", Tensor<double>({1, 1, 1, 2}, {0.5, 2}));
    write_trace(folder / "trace", trace, {});
    const std::string note = "printf '%s\\n' \"$@\" >'" + (folder / "asked").string() + "'; ";
    const fs::path program =
        script(folder, note + "for last; do :; done; cp '" + (folder / "trace").string() +
                           "' \"$last\"; echo '{\"mistake\":7,\"way\":2,\"name\":\"n\",\"how\":\"h\",\"changed\":["
                           "{\"stage\":\"layer.1.scores\",\"wrong\":3,\"size\":9},"
                           "{\"stage\":\"layer.1.probs\",\"wrong\":4,\"size\":9}]}'");
    const auto asked = [&] {
        std::vector<std::string> lines;
        std::ifstream file(folder / "asked");
        for (std::string line; std::getline(file, line);) lines.push_back(line);
        return lines;
    };
    const MadeMistake made =
        make_mistake(program, {"tiny-v3", "a text", "1,6,2", "1,1,0", Dialect::paper}, "7.2", true);
    CHECK(made.number == 7);
    CHECK(made.way == 2);
    CHECK(made.name == "n");
    CHECK(made.how == "h");
    CHECK(made.first == "layer.1.scores");
    CHECK(made.wrong == 3);
    CHECK(made.size == 9);
    CHECK(made.stages == 2);
    CHECK(made.trace.at("layer.1.scores").at(1) == 2);
    std::vector<std::string> words = asked();
    words.pop_back();  // a file of its own
    CHECK(words == std::vector<std::string>{"mistake", "7.2", "--json", "--model=tiny-v3", "--dialect", "paper",
                                            "--tokens=1,6,2", "--mask=1,1,0", "--precision", "f64", "--out"});
    make_mistake(program, {"tiny-v3", "a text", "", "1,1,0", Dialect::hf}, "7", false);
    words = asked();
    words.pop_back();
    CHECK(words == std::vector<std::string>{"mistake", "7", "--json", "--model=tiny-v3", "--dialect", "hf",
                                            "--text=a text", "--precision", "f32", "--out"});

    const std::string good =
        "{\"number\":3,\"ways\":[{\"how\":\"w\",\"state\":\"changes\",\"stage\":\"layer.0.q\","
        "\"wrong\":5,\"size\":8}]}";
    const auto list_of = [&](const std::string& entries, const CancelToken& stop = {}) {
        return list_mistakes(script(folder, note + "echo '{\"mistakes\":[" + entries + "]}'"), query(), stop);
    };
    const ZooList list = list_of(good);
    REQUIRE(list.find(3));
    const ZooWay& way = list.find(3)->ways.front();
    CHECK(way.how == "w");
    CHECK(way.stage == "layer.0.q");
    CHECK(way.wrong == 5);
    CHECK(way.size == 8);
    CHECK(asked().back() == "--list");
    const ZooList half = list_of(good + ",{\"number\":4}");
    CHECK(half.mistakes.empty());
    CHECK_THAT(half.trouble, Catch::Contains("its list of mistakes is not as expected"));
    CHECK(list_of(good, [] { return true; }).trouble == "locus-kit was stopped");
}

TEST_CASE("bug zoo: the list knows what changes something, what does not, and what cannot be made",
          "[viewer][bugzoo]") {
    const ZooList list = list_mistakes(sibling_program("locus-kit"), query());
    REQUIRE(list.trouble.empty());
    REQUIRE(list.find(1));
    CHECK(list.find(1)->effect() == ZooEffect::changes);
    CHECK(list.find(1)->ways.front().stage == "layer.0.p2c");
    CHECK(list.find(9)->effect() == ZooEffect::nothing);
    CHECK(list.find(22)->effect() == ZooEffect::impossible);
    CHECK_FALSE(list.find(22)->ways.front().needs.empty());
    CHECK_FALSE(list.find(56));
    ZooMistake several{7,
                       {{"a", ZooEffect::impossible, "", 0, 0, ""},
                        {"b", ZooEffect::nothing, "", 0, 0, ""},
                        {"c", ZooEffect::changes, "", 0, 0, ""}}};
    CHECK(several.best_way() == 2);
    several.ways.pop_back();
    CHECK(several.best_way() == 1);
}

TEST_CASE("bug zoo: the search finds numbers by their beginning and words anywhere, group by group",
          "[viewer][bugzoo]") {
    const auto entries = read_mistake_list(mistake_list_file());
    const auto count = [&](const std::string& typed) {
        std::size_t all = 0;
        for (const ZooGroup& group : zoo_groups(entries, "deberta", typed)) all += group.entries.size();
        return all;
    };
    CHECK(count("") == entries.size());
    CHECK(count("16") == 1);
    CHECK(count("1") == 11);  // 1 and 10 ... 19
    CHECK(count("MASK softmax nowhere") == 0);
    const auto groups = zoo_groups(entries, "deberta", "");
    CHECK(groups.front().title == "index and layout");
    CHECK(groups.front().entries.size() == 25);
    REQUIRE(groups.size() > 3);
    const int ranges[][2] = {{1, 25}, {26, 38}, {39, 55}};
    for (std::size_t n = 0; n < 3; ++n) {
        CHECK(groups[n].entries.front()->number == ranges[n][0]);
        CHECK(groups[n].entries.back()->number == ranges[n][1]);
    }
    std::set<std::string> titles;
    for (const ZooGroup& group : groups) CHECK(titles.insert(group.title).second);
    for (const char* other : {"of RoFormer", "of Transformer-XL", "of XLNet"}) CHECK(titles.count(other) == 1);
    const auto norms = zoo_groups(entries, "deberta", "norm eps");
    REQUIRE_FALSE(norms.empty());
    for (const MistakeEntry* entry : norms.front().entries)
        CHECK_THAT(entry->name + entry->symptom + entry->betrays + entry->evidence, Catch::Contains("eps"));
    CHECK(parse_mistake("7.2") == std::pair(7, 2));
    CHECK(parse_mistake("7") == std::pair(7, 0));
    for (const char* bad : {"", "0", "7.", "7.0", "x", "7.2.1", "-1", "7 ", "7x2", "7.-1"})
        CHECK_FALSE(parse_mistake(bad));
}

TEST_CASE("compare: a side may have a sentence of its own; other lengths are said in words", "[viewer][bugzoo]") {
    CompareState state;
    state.b = {};
    state.b.text = "a new [MASK] opened beside the old [MASK].";
    state.stage = "layer.1.probs";
    CompareAnswer answer = compared(state);
    REQUIRE(answer.trouble.empty());
    CHECK(answer.words_a.size() == answer.words_b.size());
    CHECK(answer.words_a != answer.words_b);
    CHECK(difference_of(sheet_of(answer.a, 0, 0), sheet_of(answer.b, 0, 0), answer.allowed).outside > 0);

    state.b.text = "tom went";
    answer = compared(state);
    CHECK_THAT(answer.trouble, Catch::Contains("A has 12 tokens and B") && Catch::Contains("layer.1.probs") &&
                                   Catch::Contains("only stages of one shape"));
    REQUIRE_FALSE(answer.stages.empty());
    state.stage = "layer.0.k_r";
    answer = compared(state);
    CHECK(answer.trouble.empty());
    CHECK(difference_of(sheet_of(answer.a, 0, 0), sheet_of(answer.b, 0, 0), 0).largest == 0);
}

TEST_CASE("compare: a side may be another model; a folder without one is named", "[viewer][bugzoo]") {
    CompareState state;
    state.b = {};
    state.b.model = (fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3").string();
    CompareAnswer answer = compared(state);
    CHECK(answer.trouble.empty());
    CHECK(difference_of(sheet_of(answer.a, 0, 0), sheet_of(answer.b, 0, 0), 0).largest == 0);
    state.b.model = "/no/such/model";
    CHECK_THAT(compared(state).trouble, Catch::Contains("/no/such/model"));
    state.b.model = "tiny-roformer";
    CHECK_FALSE(compared(state).trouble.empty());
    state.b = {};
    state.b.gpu = true;
    answer = compared(state);
    if (cuda::library_error().empty()) {
        CHECK(answer.trouble.empty());
        return;
    }
    CHECK_THAT(answer.trouble, Catch::Contains("no CUDA device") && Catch::Contains("--device cpu"));
    CHECK(answer.fault == Fault::unsupported);
}

TEST_CASE("compare: choosing a mistake makes B of it and asks for its first stage", "[viewer][bugzoo]") {
    State state;
    state.compare.b.file = "some.safetensors";
    state.compare.make_mistake("7.2");
    CHECK(state.compare.from_model());
    CHECK(state.compare.b.mistake == "7.2");
    CHECK(state.compare.opens_first);
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
    CHECK(state.compare.zoo);
    CHECK(state.reduce_motion);
}

TEST_CASE("changed cells: they glow once when a switch is turned, not when another place is opened",
          "[viewer][bugzoo][law]") {
    Matrix<double> right = Matrix<double>::Zero(2, 3), wrong = right;
    wrong(0, 1) = 1;
    wrong(1, 2) = std::nan("");
    ChangedCells cells;
    CHECK_FALSE(cells.follow("p2c", "official", right, 0, 10));
    CHECK(cells.sentence().empty());
    CHECK(cells.follow("p2c", "paper", wrong, 0, 20));
    CHECK(cells.sentence() == "2 of 6 cells changed");
    CHECK(cells.cells()(0, 1) == 1);
    CHECK(cells.cells()(0, 0) == 0);
    CHECK(cells.strength(20) == 1);
    CHECK(cells.strength(20.3) == Approx(0.5));
    CHECK(cells.strength(20.6) == 0);
    CHECK(cells.strength(30) == 0);
    CHECK_FALSE(cells.follow("c2p", "hf", right, 0, 40));  // another place
    CHECK(cells.sentence().empty());
    CHECK_FALSE(cells.follow("c2p", "hf", wrong, 0, 50));  // the same setting: the sentence changed, not the switch
    CHECK_FALSE(cells.follow("c2p", "paper", wrong, 0, 60));
    CHECK(cells.sentence() == "0 of 6 cells changed");
    CHECK(cells.strength(60) == 0);
    wrong(1, 2) = 0.1;
    CHECK_FALSE(cells.flash(right, wrong, 1, 65));  // exactly what is allowed
    CHECK(cells.flash(right, wrong, 0.5, 70));
    CHECK(cells.count() == 1);
    CHECK_FALSE(cells.flash(right, Matrix<double>::Zero(3, 2), 0, 80));
}

}  // namespace locus::test::test_bug_zoo
