// Every page as somebody uses it: scripts that press, click and look, and the numbers on screen beside the traces.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/attention/disentangled.h"
#include "core/positions/rotary.h"
#include "tests/lessons/lesson_files.h"
#include "tests/max_abs.h"
#include "tests/sanitizers.h"
#include "tests/viewer/run_view.h"
#include "viewer/data/deberta_session.h"
#include "viewer/data/memory_text.h"
#include "viewer/data/permutation_sentence.h"
#include "viewer/data/rotary_sentence.h"
#include "viewer/data/text_study.h"
#include "viewer/data/training_look.h"
#include "viewer/pages/permutation/token_cards.h"
#include "viewer/plots/difference.h"
#include "viewer/state/link.h"
#include "viewer/state/state.h"
#include "viewer/state/state_fields.h"

namespace locus::test::test_scripts {

namespace {

using Json = nlohmann::json;

const fs::path kScripts = fs::path(LOCUS_SOURCE_DIR) / "tests/viewer/scripts";

/// Plays a script that must go through; what it printed, line by line.
std::vector<Json> play(const fs::path& script, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"--script", script.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const TemporaryFolder folder;
    const Outcome outcome = view(arguments, folder.path());
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(listing(folder.path()).empty());
    std::vector<Json> printed;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) printed.push_back(Json::parse(line));
    return printed;
}

/// The numbers of the n-th "print": "values".
double value(const std::vector<Json>& printed, std::size_t n, const std::string& name) {
    INFO(name);
    REQUIRE(n < printed.size());
    REQUIRE(printed[n].at("values").contains(name));
    return printed[n]["values"][name].get<double>();
}

bool skipped() {
    if (has_virtual_display()) return false;
    WARN("skipped: xvfb-run is missing, so no script can be played");
    return true;
}

/// What the microscope says of a cell is what the model's trace holds, to the last bit.
void check_microscope(const std::vector<Json>& printed, std::size_t n, const Answer& answer, Index head, Cell at) {
    REQUIRE(answer.error.empty());
    CHECK(value(printed, n, "microscope/i") == static_cast<double>(at.i));
    CHECK(value(printed, n, "microscope/j") == static_cast<double>(at.j));
    const auto cell = [&](const char* stem) { return answer.stage(stem)->matrix(head)(at.i, at.j); };
    const auto shown = [&](const char* name) { return value(printed, n, std::string("microscope/") + name); };
    CHECK(shown("c2c") == static_cast<double>(cell("c2c")));
    CHECK(shown("c2p") == static_cast<double>(cell("c2p")));
    CHECK(shown("p2c") == static_cast<double>(cell("p2c")));
    CHECK(shown("sum") == static_cast<double>((cell("c2c") + cell("c2p")) + cell("p2c")));
    CHECK(shown("score") == static_cast<double>(cell("scores")));
    CHECK(shown("probability") == static_cast<double>(cell("probs")));
    CHECK(shown("c2p/row") == static_cast<double>(answer.buckets->row(at.i, at.j)));
    CHECK(shown("offset") == static_cast<double>(at.i - at.j));
    // The way from the score to the probability, step by step.
    const auto row = answer.stage("scores")->matrix(head).row(at.i);
    CHECK(shown("divisor") == static_cast<double>(score_divisor<float>(3, answer.stage("q")->extent(3))));
    CHECK(shown("row_maximum") == static_cast<double>(row.maxCoeff()));
    CHECK(shown("shifted") == static_cast<double>(cell("scores") - row.maxCoeff()));
    CHECK(shown("exponential") == Approx(std::exp(shown("shifted"))).epsilon(1e-6));
    CHECK(shown("denominator") ==
          Approx((row.cast<double>().array() - shown("row_maximum")).exp().sum()).epsilon(1e-6));
    CHECK(shown("bucket") == shown("c2p/row") - static_cast<double>(answer.buckets->span()));
    // The row of q_r that gives p2c: (k_j . q_r[row]).
    const auto q_r = answer.stage("q_r")->matrix(head);
    const auto p2c_row = static_cast<Index>(shown("p2c/row"));
    REQUIRE((p2c_row >= 0 && p2c_row < q_r.rows()));
    CHECK(answer.stage("k")->matrix(head).row(at.j).dot(q_r.row(p2c_row)) == Approx(shown("p2c")).epsilon(1e-5));
}

}  // namespace

TEST_CASE("scripts: every page has one", "[viewer][script]") {
    std::istringstream pages(run("locus-view", {"--list-pages"}).out);
    std::size_t count = 0;
    for (std::string page; std::getline(pages, page); ++count) {
        INFO(page << ": a script in tests/viewer/scripts/" << page << ".json shows that the page works");
        CHECK(fs::exists(kScripts / (page + ".json")));
    }
    CHECK(count >= 7);
}

TEST_CASE("scripts: a model that mixes its heads, and one that reads from left to right, are said to",
          "[viewer][script]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const auto says = [&](const std::string& model, const Json& actions) {
        const fs::path script = folder / "says.json";
        write_bytes(script, Json{{"size", {1440, 900}}, {"actions", actions}}.dump());
        const std::string there = std::string(LOCUS_SOURCE_DIR) + "/tests/oracle/" + model + "/model";
        const Outcome outcome =
            view({"--script", script.string(), "--model", there, "--tokens", "1,5,9,12,3,7,20,2"}, folder.path());
        INFO(outcome.err);
        CHECK(outcome.status == 0);
    };
    const auto text = [](const char* words) { return Json{{"assert", {{"text", words}}}}; };
    // locus trace: layer.1.scores [2,3,5] is 0.70588; no stage has the softmax of scores that are not mixed yet.
    says("hf_deberta_v1_talking_head", {Json{{"page", "attention"}}, text("Why is this score 0.706?"),
                                        text("score: same bits"), Json{{"assert", {{"no_text_clipped", true}}}}});
    says("hf_xlnet_uni",
         {Json{{"page", "permutation"}}, Json{{"set", "permutation.row=1"}}, text("Given words see no word"),
          text("This model reads from left to right"), Json{{"assert", {{"no_text_clipped", true}}}}});
}

TEST_CASE("scripts: a piece that the vocabulary lacks is marked where the sentence is drawn", "[viewer][script]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    write_file(folder / "unknown.json", R"({"actions": [
        {"text": "the store \u6f22 opened"}, {"wait": "settled"}, {"assert": {"text": "\u6f22 [UNK]"}},
        {"assert": {"no_text_clipped": true}}, {"hover": {"item": "sentence", "at": [0.02, 0.5]}},
        {"assert": {"no_text": "the vocabulary does not have this"}}, {"hover": {"text": "\u6f22 [UNK]"}},
        {"assert": {"text": "the vocabulary does not have this"}}]})");
    const Outcome outcome = view({"--script", "unknown.json"}, folder.path());
    INFO(outcome.err);
    CHECK(outcome.status == 0);
}

TEST_CASE("scripts: a model without a tokenizer is offered no sentence and no tour", "[viewer][script]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    write_file(folder / "ids.json", R"({"actions": [
        {"page": "start"}, {"wait": "settled"}, {"assert": {"text": "it takes ids of tokens alone"}},
        {"assert": {"no_text": "deep learning"}}, {"assert": {"no_text": "Start the tour"}},
        {"assert": {"no_text_clipped": true}}, {"key": "Enter"}, {"wait": "settled"},
        {"assert": {"field": "tour.step", "is": "-1"}}, {"assert": {"field": "tokens", "is": "1,5,9,12"}},
        {"key": "Ctrl+p"}, {"type": "sentence deep"}, {"assert": {"no_text": "sentence: deep learning"}}]})");
    const std::string model = std::string(LOCUS_SOURCE_DIR) + "/tests/oracle/ms_deberta_v3_emd/model";
    const Outcome outcome = view({"--script", "ids.json", "--model", model, "--tokens", "1,5,9,12"}, folder.path());
    INFO(outcome.err);
    CHECK(outcome.status == 0);
}

TEST_CASE("scripts: a column longer than the window scrolls down to its last lesson", "[viewer][script]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const Json wheel = {{"wheel", {{"at", {{"point", {700, 500}}}}, {"steps", -60}}}};
    Json actions = Json::array();
    for (const auto& [page, lesson, number] :
         {std::array{"rope", "Long-term decay", "18"}, std::array{"positions", "One table, seven schemes", "27"},
          std::array{"decoder", "Absolute position", "4"}, std::array{"permutation", "Two streams", "23"},
          std::array{"transformer-xl", "The shift trick", "26"}, std::array{"compare", "Port clinic", "28"},
          std::array{"conformance", "Port clinic", "28"}, std::array{"training", "SiFT", "14"},
          std::array{"text", "Counting words", "1"}, std::array{"attention", "Order is invisible", "3"}}) {
        actions.insert(actions.end(),
                       {{{"page", page}}, {{"set", "permutation.side=cell"}}, {{"wait", "settled"}}, wheel});
        actions.push_back({{"click", {{"text", lesson}}}});
        actions.push_back({{"assert", {{"text", std::string("copied: ./locus lesson ") + number}}}});
    }
    write_file(folder / "columns.json", Json{{"size", {800, 600}}, {"actions", actions}}.dump());
    play(folder / "columns.json");
}

TEST_CASE("scripts: words, places and numbers are said as the page beside them shows them", "[viewer][script]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const auto says = [&](const std::vector<std::string>& arguments, const std::vector<std::string>& words) {
        Json actions = {{{"wait", "settled"}}};
        for (const std::string& line : words) actions.push_back({{"assert", {{"text", line}}}});
        actions.push_back({{"assert", {{"no_text_clipped", true}}}});
        write_file(folder / "says.json", Json{{"size", {1280, 800}}, {"actions", actions}}.dump());
        play(folder / "says.json", arguments);
    };
    // Names too long for a choice are the places of the cards; these are counted from 1 everywhere.
    says({"tiny-xlnet", "--text", "the government of the international organization"},
         {"5, 6", "6, 5", "Position 6 is predicted from the 6 given", "words and from position 5."});
    says({"tiny-xlnet", "--cell", "5,3"}, {"6 \u2212 4 = distance"});
    // Padding is not given.
    says({"tiny-xlnet", "--tokens", "2,5,6,4,3,0,0,0", "--mask", "1,1,1,1,1,0,0,0"},
         {"Position 3 is predicted from the 4 given", "Its query stream g sees 4 words"});
    says({"--page", "text", "--set", "text_page.pair=1,2"}, {"2 and 3: not in these 2 topics"});
    says({"--page", "transformer-xl", "--set", "memory.strip=reach"}, {"tokens in a segment", "layer 0", "layer 3"});
    says({"--set", "attention.picture=stage"}, {"This column explains the probabilities, at", "20", "40"});
    says({"--page", "rope", "--set", "rope.scaling=2"}, {"factor s", "With this scaling the angles are not the"});
    says({"--page", "rope", "--set", "rope.m=9", "--set", "rope.scaling=2"}, {"The sentence has no such positions or"});
}

TEST_CASE("scripts: in a window that is higher than wide the matrices grow, two in a row", "[viewer][script]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    Json actions = Json::array();
    const std::vector<std::pair<std::string, std::string>> looks = {{"decoder", "pass 1"},
                                                                    {"text", "cosine of counts"},
                                                                    {"conformance", "reference"},
                                                                    {"transformer-xl", "probabilities"}};
    for (const auto& [page, name] : looks)
        actions.insert(actions.end(), {{{"page", page}}, {{"wait", "settled"}}, {{"print", "items"}}});
    write_file(folder / "tall.json", Json{{"size", {1000, 1600}}, {"actions", actions}}.dump());
    const std::vector<Json> printed = play(folder / "tall.json");
    REQUIRE(printed.size() == looks.size());
    for (std::size_t n = 0; n < looks.size(); ++n) {
        INFO(looks[n].first);
        const auto box = printed[n].at("items").at(looks[n].second).get<std::vector<double>>();
        CHECK(box.at(2) - box.at(0) >= 270);  // of 644 that the page has
        CHECK(box.at(3) - box.at(1) >= 270);
    }
}

TEST_CASE("scripts: attention, and its microscope says what the trace holds", "[viewer][script]") {
    if (skipped()) return;
    const std::vector<Json> printed = play(kScripts / "attention.json");
    const DebertaSession session("tiny-v3");
    const State state;
    const auto answer = session.answer({state.text, "", "", Dialect::official, 2});
    check_microscope(printed, 0, *answer, 3, {3, 5});
    check_microscope(printed, 1, *answer, 3, {4, 7});
    // Far apart the bucket is not the offset, and as printed p2c reads another row than c2p.
    const char* longer =
        "the cat of tom chased the dog of emma and the dog of emma chased the cat of tom beside the old mall.";
    check_microscope(printed, 2, *session.answer({longer, "", "", Dialect::paper, 2}), 3, {33, 0});
    CHECK(value(printed, 2, "microscope/bucket") != value(printed, 2, "microscope/offset"));
    CHECK(value(printed, 2, "microscope/p2c/row") != value(printed, 2, "microscope/c2p/row"));
    const auto other = session.answer({"the capital of france is [MASK].", "", "", Dialect::official, 2});
    const Cell at{static_cast<Index>(value(printed, 3, "microscope/i")),
                  static_cast<Index>(value(printed, 3, "microscope/j"))};
    check_microscope(printed, 3, *other, 3, at);
}

TEST_CASE("scripts: positions, and the row is the table's", "[viewer][script]") {
    if (skipped()) return;
    const std::vector<Json> printed = play(kScripts / "positions.json");
    const RelativeBuckets buckets = RelativeBuckets::logarithmic(24, 24, 16, 20, OffsetClamp::official);
    const std::vector<Cell> cells = {{18, 5}, {2, 20}};
    for (std::size_t n = 0; n < cells.size(); ++n) {
        const Index row = buckets.row(cells[n].i, cells[n].j);
        Index sharing = 0, pairs = 0;
        for (Index i = 0; i < 24; ++i)
            for (Index j = 0; j < 24; ++j) {
                pairs += buckets.row(i, j) == row;
                sharing += buckets.row(i, j) == row && (i == 0 || j == 0);  // one pair of each offset
            }
        CHECK(value(printed, n, "positions/row") == static_cast<double>(row));
        CHECK(value(printed, n, "positions/offset") == static_cast<double>(cells[n].i - cells[n].j));
        CHECK(value(printed, n, "positions/pairs") == static_cast<double>(pairs));
        CHECK(value(printed, n, "positions/sharing") == static_cast<double>(sharing));
    }
}

TEST_CASE("scripts: training, and what it shows is what the same steps give", "[viewer][script][training]") {
    if (skipped()) return;
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Json> printed = play(kScripts / "training.json");
    // Three actions are played beside a training without an end: each would wait for it longer than this.
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::minutes(kPatience));
    CourseBoard board({});
    const auto course = Courses().run({"", 3, 60, 1, true}, board);
    REQUIRE(course->snapshots.size() == 4);
    CHECK(value(printed, 0, "training/heldout") == course->snapshots[3].heldout);
    LookQuery query{course->subject, {}, State().training.text, State().training.masked};
    for (const CourseSnapshot& snapshot : course->snapshots) query.snapshots.push_back(snapshot.values);
    const auto look = TrainingLooks().answer(query);
    REQUIRE(look->error.empty());
    CHECK(look->sentence.behind[14] == "new");
    CHECK(value(printed, 0, "training/chance") == look->chances(0, look->hidden[0])[3]);
    const HeadHistory animation = head_history(*look, 2, 3);
    CHECK(value(printed, 0, "training/c2p/peak") == static_cast<double>(peak_of(animation.c2p.means[3])));
    CHECK(value(printed, 0, "training/p2c/peak") == static_cast<double>(peak_of(animation.p2c.means[3])));
}

TEST_CASE("scripts: decoder, and its words are the softmax of the logits", "[viewer][script]") {
    if (skipped()) return;
    const std::vector<Json> printed = play(kScripts / "decoder.json");
    const DebertaSession session("tiny-v3");
    for (const auto& [n, strength] : {std::pair<std::size_t, double>{0, 1}, {1, 0}}) {
        Request request{State().text, "", "", Dialect::official, 0, true};
        request.strength = strength;
        const auto answer = session.answer(request);
        const auto logits = answer->trace.at("mlm.logits_at_positions").as<float>().rows();
        REQUIRE(logits.rows() == 2);
        for (const auto& [row, mask] : {std::pair<Index, std::string>{0, "3"}, {1, "8"}}) {
            std::vector<double> chances(static_cast<std::size_t>(logits.cols()));
            double sum = 0;
            for (Index word = 0; word < logits.cols(); ++word)
                sum += chances[static_cast<std::size_t>(word)] =
                    std::exp(static_cast<double>(logits(row, word)) - static_cast<double>(logits.row(row).maxCoeff()));
            std::sort(chances.rbegin(), chances.rend());
            std::vector<double> shown;
            for (const auto& [name, number] : printed.at(n).at("values").items())
                if (name.starts_with("decoder/" + mask + "/with/")) shown.push_back(number.get<double>());
            std::sort(shown.rbegin(), shown.rend());
            REQUIRE(shown.size() == 4);  // two masks, two lists each: so many fit into the column
            for (std::size_t best = 0; best < shown.size(); ++best)
                CHECK(shown[best] == Approx(chances[best] / sum).epsilon(1e-12));
        }
    }
}

TEST_CASE("scripts: rope, and the walk ends at the score of the rotated vectors", "[viewer][script]") {
    if (skipped()) return;
    const std::vector<Json> printed = play(kScripts / "rope.json");
    const State state;
    const ModelChoice& choice = state.choices.roformer;
    const RotarySentence sentence(std::make_shared<const ModelSession>(choice.model, Family::roformer), choice);
    const auto check = [&](std::size_t n, Index m, Index k_at, double shift) {
        const RowVector<double> q = sentence.query(state.rope.layer, state.rope.head, state.rope.query);
        const RowVector<double> k = sentence.key(state.rope.layer, state.rope.head, state.rope.key);
        double score = 0;
        for (Index t = 0; t < q.size() / 2; ++t) {
            const double theta = std::pow(10000.0, -2.0 * static_cast<double>(t) / static_cast<double>(q.size()));
            const double a = (static_cast<double>(m) + shift) * theta, b = (static_cast<double>(k_at) + shift) * theta;
            const double qx = q(2 * t) * std::cos(a) - q(2 * t + 1) * std::sin(a);
            const double qy = q(2 * t) * std::sin(a) + q(2 * t + 1) * std::cos(a);
            const double kx = k(2 * t) * std::cos(b) - k(2 * t + 1) * std::sin(b);
            const double ky = k(2 * t) * std::sin(b) + k(2 * t + 1) * std::cos(b);
            CHECK(value(printed, n, "rope/plane " + std::to_string(t)) == Approx(qx * kx + qy * ky).margin(1e-9));
            score += qx * kx + qy * ky;
        }
        CHECK(value(printed, n, "rope/score") == Approx(score).margin(1e-9));
        CHECK(value(printed, n, "microscope/score") ==
              Approx(score / std::sqrt(static_cast<double>(q.size()))).epsilon(1e-5));
    };
    check(0, 5, 4, 0);
    // Read as linear attention, query 3 and key 3.
    const Matrix<float> weights = sentence.linear_weights(state.rope.layer, state.rope.head);
    CHECK(value(printed, 1, "microscope/weight") == Approx(weights(3, 3)).epsilon(1e-6));
    // Beside the rows, over the columns, and in the column at the right.
    const auto texts = printed.at(2).at("texts").get<std::vector<std::string>>();
    CHECK(std::count(texts.begin(), texts.end(), "[CLS]") == 3);
}

TEST_CASE("scripts: transformer-xl, and score and probability are the trace's", "[viewer][script]") {
    if (skipped()) return;
    const std::vector<Json> printed = play(kScripts / "transformer-xl.json");
    const ModelChoice choice = State().choices.transformer_xl;
    const MemoryState state;
    const auto sentence = std::make_shared<const MemoryText>(
        std::make_shared<const ModelSession>(choice.model, Family::transformer_xl), choice);
    const auto answer = MemoryAnswer::make({sentence, state.segment_tokens, state.segment, state.memory, 0});
    REQUIRE(answer->error.empty());
    const Index key = state.cell.j - (answer->longest - answer->memory);
    for (const auto& [n, at] : {std::pair<std::size_t, Index>{0, 0}, {1, 1}}) {  // layer 0 head 0, layer 1 head 1
        const auto cell = [&](const char* stem) {
            return static_cast<double>(answer->stage(at, stem, at)(state.cell.i, key));
        };
        CHECK(value(printed, n, "memory/score") == cell("scores"));
        CHECK(value(printed, n, "memory/probability") == cell("probs"));
        CHECK(value(printed, n, "memory/loss") == answer->loss);
        CHECK(value(printed, n, "memory/loss without") == answer->loss_without);
    }
}

TEST_CASE("scripts: permutation, and the weights are the query stream's", "[viewer][script]") {
    if (skipped()) return;
    const std::vector<Json> printed = play(kScripts / "permutation.json");
    const ModelChoice choice = State().choices.xlnet;
    const auto sentence = std::make_shared<const PermutationSentence>(
        std::make_shared<const ModelSession>(choice.model, Family::xlnet), choice);
    const auto answer = PermutationAnswer::make({sentence, sentence->usual_cards(), false, 3});
    REQUIRE(answer->error.empty());
    REQUIRE(answer->chances.size() == 2);
    CHECK(value(printed, 0, "permutation/product") == answer->chances[0].probability * answer->chances[1].probability);
    const Matrix<float> weights = answer->stage(Stream::query, 3, "probs", 0);
    const Index row = answer->row_of(Stream::query, 5);
    std::size_t shown = 0;
    for (const auto& [name, number] : printed.at(0).at("values").items()) {
        if (!name.starts_with("permutation/weight ")) continue;
        ++shown;
        CHECK(number.get<double>() == static_cast<double>(weights(row, std::stol(name.substr(19)))));
    }
    CHECK(shown == 4);
}

TEST_CASE("scripts: compare, and both cells are the traces'", "[viewer][script]") {
    if (skipped()) return;
    const std::vector<Json> printed = play(kScripts / "compare.json");
    const DebertaSession session("tiny-v3");
    const State state;
    const auto a = session.answer({state.text, "", "", Dialect::official, 0});
    const auto b = session.answer({state.text, "", "", Dialect::paper, 0});
    const auto left = a->stage("p2c")->matrix(3), right = b->stage("p2c")->matrix(3);
    const Difference all =
        difference_of(left.cast<double>(), right.cast<double>(), 1e-4);  // more than any rounding, less than any change
    for (const auto& [n, at] : {std::pair<std::size_t, Cell>{0, {3, 5}}, {1, {7, 2}}}) {
        CHECK(value(printed, n, "compare/a") == static_cast<double>(left(at.i, at.j)));
        CHECK(value(printed, n, "compare/b") == static_cast<double>(right(at.i, at.j)));
        CHECK(value(printed, n, "compare/difference") ==
              static_cast<double>(right(at.i, at.j)) - static_cast<double>(left(at.i, at.j)));
        CHECK(value(printed, n, "compare/largest") == max_abs(left.cast<double>() - right.cast<double>()));
        CHECK(value(printed, n, "compare/mean") == all.mean);
        CHECK(value(printed, n, "compare/p99") == all.p99);
        CHECK(value(printed, n, "compare/cosine") == all.cosine);
        CHECK(value(printed, n, "compare/outside") == static_cast<double>(all.outside));
    }
}

TEST_CASE("scripts: the bug zoo, with a mistake, one that changes nothing and one that cannot be made",
          "[viewer][script]") {
    if (skipped()) return;
    play(kScripts / "bug_zoo.json");
}

TEST_CASE("scripts: text, and likeness is the cosine of the counts", "[viewer][script]") {
    if (skipped()) return;
    const std::vector<Json> printed = play(kScripts / "text.json");
    CHECK(value(printed, 0, "text/likeness") == 0);  // no word in common ...
    CHECK(value(printed, 0, "text/distance") > 0);
    // media, review, new, car beside new, car three times, used, review: 1 + 1 + 3 over lengths 2 and the root of 12
    CHECK(value(printed, 1, "text/likeness") == Approx(5 / std::sqrt(48.0)).epsilon(1e-12));
    const TextPageState shown;
    const auto study = TextStudies().answer({shown.documents, shown.stop_words, shown.topics, shown.pair});
    CHECK(value(printed, 0, "text/by topics") == study->by_topics(0, 1));
    CHECK(value(printed, 1, "text/by topics") == study->by_topics(3, 4));
    const double tf = value(printed, 0, "text/tf"), idf = value(printed, 0, "text/idf");
    CHECK(idf == Approx(std::log10(6.0 / 2)).epsilon(1e-12));  // "car" stands in two of six documents
    CHECK(value(printed, 0, "text/tf idf") == Approx(tf * idf).epsilon(1e-12));
}

TEST_CASE("scripts: the state that a lesson shows is one that its page keeps", "[viewer][script]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    std::string line = "true";
    int shown = 0;
    // Of "learning" and the near "deep", then under the formula of the paper; of "learning" and its right neighbour.
    const std::map<std::string, double> probabilities = {{"08", 0.823}, {"09", 0.506}, {"11", 0.862}};
    for (const LessonFile& file : lesson_files()) {
        if (file.show.empty()) continue;
        Json kept = Json::array();
        line += " && locus view";
        for (const std::string& word : words_of_link("page=" + file.page + "&" + file.show)) {
            line += " " + quoted(word);
            const std::string pair = word.starts_with("--set=") ? word.substr(6) : word.substr(2);
            const std::string name = pair.substr(0, pair.find('='));
            // A text is the sentence of the page that is shown.
            const std::string field = name == "text" && file.page == "permutation" ? "permutation.text" : name;
            kept.push_back({{"assert", {{"field", field}, {"is", pair.substr(name.size() + 1)}}}});
        }
        if (const auto probability = probabilities.find(file.number); probability != probabilities.end())
            kept.push_back(
                {{"assert", {{"value", "microscope/probability"}, {"is", probability->second}, {"within", 2e-3}}}});
        write_file(folder / (file.number + ".json"), Json{{"actions", kept}}.dump());
        line += " --script " + file.number + ".json";
        ++shown;
    }
    CHECK(shown == 28);
    const Outcome outcome = view_line(line, folder.path());
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
}

TEST_CASE("scripts: what is not as expected ends with 1 and says what was found", "[viewer][script]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const auto refusal = [&](const std::string& action, int status, const std::string& expected) {
        write_file(folder / "play.json", "{\"actions\": [{\"page\": \"attention\"}, " + action + "]}");
        const Outcome outcome = view({"--script", (folder / "play.json").string()});
        INFO(action << ": " << outcome.err);
        CHECK(outcome.status == status);
        CHECK(outcome.sentences() == 1);
        CHECK_THAT(outcome.err, Catch::Contains("play.json: action 2") && Catch::Contains(expected));
    };
    refusal(R"({"assert": {"text": "no such words"}})", 1, "expected the text \"no such words\", found it nowhere");
    refusal(R"({"assert": {"no_text": "probabilities"}})", 1, "expected no text \"probabilities\"");
    refusal(R"({"assert": {"field": "cell", "is": "0,0"}})", 1, "expected cell to be \"0,0\", found \"3,5\"");
    // The digits after these depend on how wide the processor's registers are.
    refusal(R"({"assert": {"value": "microscope/sum", "is": 56.2768}})", 1,
            "expected microscope/sum to be 56.2768, found 56.2767");
    refusal(R"({"hover": {"matrix": "c2p", "cell": [3, 99]}})", 1, "12 rows and 12 columns");
    refusal(R"({"hover": {"item": "nobody"}})", 1, "expected an item \"nobody\", found");
    refusal(R"({"set": "rope.m=-1"})", 2, "rope.m is \"-1\"");
    refusal(R"({"screenshot": "/nowhere/at/all.png"})", 3, "/nowhere/at/all.png");
}

TEST_CASE("scripts: the command line wins over the script, and goes without the options it excludes",
          "[viewer][script]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    write_file(folder / "play.json",
               R"({"size": [1000, 700], "actions": [{"screenshot": "one.png"}, {"size": [900, 650]},
                   {"screenshot": "two.png"}]})");
    CHECK(view({"--script", "play.json"}, folder.path()).status == 0);
    CHECK(read_file(folder / "one.png") != read_file(folder / "two.png"));
    const Outcome other = view({"--script", "play.json", "--size", "801x601", "--scale", "1"}, folder.path());
    CHECK(other.status == 0);
    CHECK(run("locus-view", {"--script", "a.json", "--screenshot", "b.png"}).status != 0);
    CHECK(run("locus-view", {"--window"}).status == 2);
}

}  // namespace locus::test::test_scripts
