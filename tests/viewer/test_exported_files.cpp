// Figures as they leave the program: the cells in them are the numbers beside them, the page is not the screen.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <pugixml.hpp>
#include <sstream>

#include "core/io/npy.h"
#include "core/io/safetensors.h"
#include "tests/files.h"
#include "tests/max_abs.h"
#include "tests/temporary_folder.h"
#include "tests/viewer/run_view.h"
#include "viewer/data/deberta_session.h"
#include "viewer/data/rotary_sentence.h"
#include "viewer/data/text_study.h"
#include "viewer/data/training_look.h"
#include "viewer/state/state.h"

namespace locus::test::test_exported_files {

namespace {

bool skipped() {
    if (has_virtual_display()) return false;
    WARN("skipped: xvfb-run is missing, so no picture can be drawn");
    return true;
}

/// The numbers of a table with a row of names above and a column of names in front.
std::vector<std::vector<double>> numbers_of(const std::string& csv) {
    std::vector<std::vector<double>> rows;
    std::istringstream lines(csv);
    std::string line;
    for (std::getline(lines, line); std::getline(lines, line);) {
        std::istringstream cells(line);
        std::string cell;
        std::vector<double> row;
        for (std::getline(cells, cell, ','); std::getline(cells, cell, ',');) row.push_back(std::stod(cell));
        rows.push_back(row);
    }
    return rows;
}

/// "#rrggbb" as how bright it is.
double brightness(const std::string& colour) {
    const auto channel = [&](std::size_t at) {
        return static_cast<double>(std::stoi(colour.substr(at, 2), nullptr, 16));
    };
    return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

pugi::xml_document parsed(const fs::path& file) {
    pugi::xml_document document;
    REQUIRE(document.load_file(file.c_str()));
    return document;
}

}  // namespace

TEST_CASE("export: the cells of a figure are the numbers of its table, brighter where they are larger",
          "[view][export][cli]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const Outcome outcome = view({"--page", "attention", "--export", (folder / "a.svg").string(), "--region", "probs",
                                  "--export", (folder / "a.csv").string(), "--region", "probs"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const auto numbers = numbers_of(read_file(folder / "a.csv"));
    const pugi::xml_document document = parsed(folder / "a.svg");
    CHECK(std::string(document.select_node("//title").node().child_value()) == "probabilities");
    const auto rects = document.select_nodes("//g[@class='cells']/rect");
    REQUIRE(numbers.size() == 12);
    REQUIRE(rects.size() == 144);
    std::vector<std::pair<double, double>> seen;  // value, brightness
    std::size_t n = 0;
    for (const auto& rect : rects) {
        // Cells come row by row: x and y rise with the column and the row.
        const double side = rect.node().attribute("width").as_double();
        CHECK(rect.node().attribute("x").as_double() ==
              rects.first().node().attribute("x").as_double() + side * static_cast<double>(n % 12));
        CHECK(rect.node().attribute("y").as_double() ==
              rects.first().node().attribute("y").as_double() + side * static_cast<double>(n / 12));
        seen.push_back({numbers.at(n / 12).at(n % 12), brightness(rect.node().attribute("fill").value())});
        ++n;
    }
    std::sort(seen.begin(), seen.end());
    // 256 colours: neighbours in value may share one or be off by its rounding, a tenth of the range never is.
    for (std::size_t small = 0; small < seen.size(); ++small)
        for (std::size_t large = small + 1; large < seen.size(); ++large) {
            CHECK(seen[large].second >= seen[small].second - 1);
            if (seen[large].first > seen[small].first + 0.1) CHECK(seen[large].second > seen[small].second + 3);
        }
}

TEST_CASE("export: the page is the part of the screen beside and below the bars, under its own title",
          "[view][export][cli]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const auto drawn = [&](const std::string& name, const std::string& window, const std::string& scale) {
        const Outcome outcome = view({"--page", "rope", "--size", window, "--scale", scale, "--export",
                                      (folder / (name + "_page.svg")).string(), "--region", "page", "--export",
                                      (folder / (name + "_screen.svg")).string(), "--region", "screen"});
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
    };
    drawn("plain", "1280x800", "1");
    drawn("large", "1920x1200", "1.5");
    const pugi::xml_document page = parsed(folder / "plain_page.svg"), screen = parsed(folder / "plain_screen.svg");
    const pugi::xml_document large = parsed(folder / "large_page.svg"), whole = parsed(folder / "large_screen.svg");
    const auto size = [](const pugi::xml_document& document, const char* side) {
        return document.document_element().attribute(side).as_double();
    };
    const auto largest_word = [](const pugi::xml_document& document) {
        double largest = 0;
        for (const auto& text : document.select_nodes("//text"))
            largest = std::max(largest, text.node().attribute("font-size").as_double());
        return largest;
    };
    CHECK(std::string(page.select_node("//title").node().child_value()) == "Locus, page RoPE");
    CHECK(size(screen, "width") == 1280);
    CHECK(size(screen, "height") == 800);
    CHECK(size(page, "width") < 1180);
    CHECK(size(page, "height") < 760);
    CHECK(largest_word(page) >= 13);
    CHECK(largest_word(page) <= 16);
    // Half as large again in every measure, words among them.
    CHECK(size(whole, "width") == 1920);
    CHECK(size(large, "width") == Approx(1.5 * size(page, "width")).margin(2));
    CHECK(size(large, "height") == Approx(1.5 * size(page, "height")).margin(2));
    CHECK(largest_word(large) == Approx(1.5 * largest_word(page)));
}

TEST_CASE("export: the trace of a layer holds the command that makes it again", "[view][export][cli]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const fs::path file = folder / "layer.safetensors";
    const Outcome outcome =
        view({"--page", "attention", "--layer", "1", "--export", file.string(), "--region", "layer"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    std::string command;
    for (const auto& [key, value] : open_safetensors(file).metadata)
        if (key == "command") command = value;
    INFO(command);
    CHECK(command.starts_with("locus view "));
    CHECK(command.find("--layer 1") != std::string::npos);
    CHECK(command.find("--region layer") != std::string::npos);
}

TEST_CASE("export: a whole layer is written of the model and the text that the page shows, or of none",
          "[view][export][cli]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const std::string file = (folder / "layer.safetensors").string();
    const std::vector<std::vector<std::string>> screens = {
        {"tiny-xlnet"},     {"tiny-roformer"},     {"tiny-txl"},          {"--page", "rope"},
        {"--page", "text"}, {"--page", "compare"}, {"--page", "decoder"}, {"--page", "positions"}};
    for (std::vector<std::string> arguments : screens) {
        const std::string named = arguments.back();
        if (named != "positions") arguments.insert(arguments.end(), {"--text", "hi there"});
        arguments.insert(arguments.end(), {"--region", "layer", "--export", file});
        const Outcome outcome = view(arguments);
        INFO(named << ": " << outcome.err);
        CHECK(outcome.status == 2);
        CHECK(outcome.err.find("shows no layer's trace") != std::string::npos);
        CHECK_FALSE(fs::exists(file));
    }
    REQUIRE(view({"--page", "start", "--text", "deep learning", "--region", "layer", "--export", file}).status == 0);
    const DebertaSession session("tiny-v3");
    Request request;
    request.text = "deep learning";
    request.layer = State().layer;
    const auto shown = session.answer(request);
    const Index head = State().head;
    CHECK(read_trace(file).at("layer.2.probs").as<float>().matrix(head) == shown->stage("probs")->matrix(head));
}

TEST_CASE("start: in a small window titles are whole, words stand beside their bars, and what is missing says why",
          "[view][export][cli]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const auto page = [&](const char* name, std::vector<std::string> more) {
        const fs::path file = folder / name;
        more.insert(more.end(),
                    {"--page", "start", "--size", "1000x700", "--region", "page", "--export", file.string()});
        const Outcome outcome = view(more);
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
        return parsed(file);
    };
    const auto text = [](const pugi::xml_document& document, const std::string& words) {
        return document.select_node(("//text[starts-with(., '" + words + "')]").c_str()).node();
    };
    const pugi::xml_document usual = page("usual.svg", {});
    for (const char* title : {"Positions", "Transformer-XL", "Permutation"})
        CHECK(usual.select_nodes(("//text[. = '" + std::string(title) + "']").c_str()).size() == 1);
    // Nothing but the card itself begins left of a word's end.
    const auto number = [](const pugi::xml_node& node, const char* name) { return node.attribute(name).as_double(); };
    const pugi::xml_node word = text(usual, "hospital"), reason = text(usual, "This model has no enhanced");
    REQUIRE(word);
    CHECK_FALSE(reason);
    const double x = number(word, "x"), y = number(word, "y");
    std::size_t bars = 0;
    for (const auto& found : usual.select_nodes("//rect")) {
        const pugi::xml_node bar = found.node();
        const double left = number(bar, "x"), top = number(bar, "y"), high = number(bar, "height");
        if (high > 20 || y < top || y - high > top || left < x - 20 || left > x + 120) continue;
        ++bars;
        CHECK(left > x + 25);
    }
    CHECK(bars == 1);

    const std::string model = std::string(LOCUS_SOURCE_DIR) + "/tests/oracle/hf_deberta_v2_short/model";
    const pugi::xml_document without = page("without.svg", {model, "--tokens", "1,5,9,12,3,7,20,2"});
    CHECK(text(without, "This model has no enhanced"));
    CHECK_FALSE(text(without, "This sentence has no [MASK]"));
    const pugi::xml_document no_mask = page("no_mask.svg", {"--text", "deep learning"});
    CHECK(text(no_mask, "Write [MASK] into the sentence"));
}

TEST_CASE("view: the stage that a page shows by name is that of the name, or is refused", "[view][cli]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const std::string file = (folder / "stage.safetensors").string();
    const auto stage = [&](const std::string& page, const std::string& name, std::vector<std::string> more = {}) {
        more.insert(more.end(), {"--page", page, "--set", page + ".stage=" + name, "--export", file});
        if (page == "attention") more.insert(more.end(), {"--set", "attention.picture=stage"});
        return view(more);
    };
    Outcome outcome = stage("attention", "layer.0.k_r");
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const Trace first = read_trace(file);
    CHECK(first.find("layer.0.k_r") != nullptr);
    CHECK(first.find("layer.2.k_r") == nullptr);
    CHECK(stage("attention", "layer.1.k_r", {"--layer", "1"}).status == 0);
    CHECK(read_trace(file).find("layer.1.k_r") != nullptr);
    // The layer that the page has turned to is in the command that draws it again.
    REQUIRE(view({"--layer", "1", "--set", "attention.picture=stage", "--export", file}).status == 0);
    for (const auto& [key, value] : open_safetensors(file).metadata)
        if (key == "command") CHECK(value.find("attention.stage=layer.1.context") != std::string::npos);
    fs::remove(file);
    const auto refused = [&](const Outcome& wrong, const std::string& sentence) {
        INFO(wrong.err);
        CHECK(wrong.status == 2);
        CHECK(wrong.err.find(sentence) != std::string::npos);
        CHECK_FALSE(fs::exists(file));
    };
    refused(stage("attention", "layer.7.q"), "attention.stage is \"layer.7.q\", expected a layer from 0 to 5");
    refused(stage("attention", "layer.0.nope"), "attention.stage is \"layer.0.nope\", which the page does not have");
    refused(stage("attention", "nonsense"), "it would show \"layer.2.scores\" instead");
    refused(stage("attention", "layer.0.q", {"--layer", "1"}), "expected a stage of layer 1, as --layer says");
    refused(stage("conformance", "foo"), "conformance.stage is \"foo\", which the page does not have");
    refused(view({"--page", "conformance", "--set", "conformance.case=foo", "--export", file}),
            "conformance.case is \"foo\", which the page does not have");
}

TEST_CASE("view: --layer, --head and --cell are those of the page that the opened model has", "[view][cli]") {
    const auto refusal = [](const std::vector<std::string>& arguments, const std::string& sentence) {
        const Outcome outcome = run("locus-view", arguments, "unset DISPLAY WAYLAND_DISPLAY; ");
        INFO(outcome.err);
        CHECK(outcome.status == 2);
        CHECK(outcome.err.find(sentence) != std::string::npos);
    };
    for (const char* model : {"tiny-roformer", "tiny-txl", "tiny-xlnet"}) {
        refusal({model, "--layer", "4"}, "--layer is 4, expected 0 to 3");
        refusal({model, "--head", "4"}, "--head is 4, expected 0 to 3");
    }
    refusal({"tiny-xlnet", "--cell", "3,9"}, "--cell is \"3,9\", expected I,J with both from 0 to 8");
    refusal({"tiny-xlnet", "--text", "hi there", "--cell", "8,1"}, "--cell is \"8,1\"");
    refusal({"tiny-txl", "--cell", "24,0"}, "--cell is \"24,0\", expected I,J with I from 0 to 23 and J from 0 to 47");
    refusal({"tiny-txl", "--set", "memory.length=4", "--cell", "0,19"}, "and J from 20 to 47");
    refusal({"tiny-xlnet", "--set", "permutation.stream=query", "--cell", "0,1"}, "expected a predicted position as I");
    refusal({"tiny-xlnet", "--set", "permutation.sentence=1", "--layer", "1"}, "the model's own sentence");
    if (skipped()) return;
    const TemporaryFolder folder;
    const auto command = [&](const std::string& model, const std::string& cell) {
        const fs::path file = folder / (model + ".safetensors");
        const Outcome outcome = view({model, "--layer", "1", "--head", "2", "--cell", cell, "--export", file.string()});
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
        CHECK(read_trace(file).find("layer.1.probs") != nullptr);
        for (const auto& [key, value] : open_safetensors(file).metadata)
            if (key == "command") return value;
        return std::string();
    };
    const std::string memory = command("tiny-txl", "23,47"), permutation = command("tiny-xlnet", "1,2");
    for (const char* said : {"memory.layer=1", "memory.head=2", "memory.cell=23,47", "memory.side=cell"})
        CHECK(memory.find(said) != std::string::npos);
    for (const char* said : {"permutation.layer=1", "permutation.head=2", "permutation.cell=1,2",
                             "permutation.stream=content", "permutation.side=cell"})
        CHECK(permutation.find(said) != std::string::npos);
}

TEST_CASE("export: several files have a region and a picture's wishes each", "[view][export][cli]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const Outcome outcome = view({"--page", "attention", "--transparent", "--export", (folder / "a.svg").string(),
                                  "--region", "probs", "--export", (folder / "b.svg").string(), "--region", "c2p"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const pugi::xml_document a = parsed(folder / "a.svg"), b = parsed(folder / "b.svg");
    CHECK(std::string(a.select_node("//title").node().child_value()) !=
          std::string(b.select_node("//title").node().child_value()));
    for (const pugi::xml_document* each : {&a, &b}) {
        // The first child after title and metadata would be the background.
        const pugi::xml_node first = each->select_node("//metadata").node().next_sibling();
        CHECK_FALSE((std::string(first.name()) == "rect" && first.attribute("x").as_double() == 0));
    }
    const Outcome screen = view({"--page", "attention", "--export", (folder / "a.csv").string(), "--region", "screen"});
    CHECK(screen.status == 2);
    CHECK(screen.err.find("--region is \"screen\", which is a picture") != std::string::npos);
    const Outcome shares = view({"--page", "attention", "--export", (folder / "a.csv").string(), "--region", "shares"});
    CHECK(shares.status == 2);
    CHECK(shares.err.find("with --set attention.picture=heads alone") != std::string::npos);
    const Outcome unknown = view({"--page", "attention", "--export", (folder / "a.csv").string(), "--region", "x"});
    CHECK(unknown.err.find("expected one of page, screen, layer (in .safetensors), c2c") != std::string::npos);
    CHECK_FALSE(fs::exists(folder / "a.csv"));
}

TEST_CASE("view: options that contradict each other or leave their range are refused by name", "[view][cli]") {
    const auto refusal = [](const std::vector<std::string>& arguments, const std::string& sentence) {
        const Outcome outcome = run("locus-view", arguments, "unset DISPLAY WAYLAND_DISPLAY; ");
        INFO(outcome.err);
        CHECK(outcome.status == 2);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.err.find(sentence) != std::string::npos);
    };
    refusal({"--scale", "4.5"}, "--scale is 4.5");
    refusal({"--scale", "0.4"}, "--scale is 0.4");
    refusal({"--size", "1280x599"}, "--size is \"1280x599\"");
    refusal({"--size", "799x800"}, "--size is \"799x800\"");
    refusal({"--text", "a word", "--tokens", "1,5,2"}, "expected one of --text and --tokens, found both");
    refusal({"--mask", "1,1,0"}, "--mask goes with --tokens only");
    refusal({"--tokens", ""}, "--tokens is empty");
    refusal({"--report", "r.json", "--compare", "d.safetensors"}, "expected one of --report and --compare");
    refusal({"--compare", "a", "--compare", "b", "--compare", "c"}, "--compare is given 3 times");
    refusal({"--mistake", "7", "--dumps", "folder"}, "expected one of --dumps, --report, --mistake and --compare");
    refusal({"--mistake", "7.99"}, "--mistake is \"7.99\", expected 7.1 to 7.");
    refusal({"--mistake", "94.2", "--model", "tiny-txl"}, "--mistake goes with a DeBERTa");
    refusal({"--mistake", "59.2"}, "--mistake is \"59.2\", expected 59, which is made in one way alone");
    refusal({"--window"}, "--window goes with --script only");
}

// Numbers that leave the program: CSV, .npy and safetensors of what is on screen, against the trace.

namespace {

/// The stages that the pages show, computed here.
std::shared_ptr<const Answer> tiny_answer() {
    static const DebertaSession session("tiny-v3");
    Request request;
    request.text = State().text;
    request.layer = State().layer;
    return session.answer(request);
}

/// True if the stage holds exactly one head of the trace's.
bool is_head_of(const Stage& found, const Stage& whole, Index head) {
    const auto& values = found.as<float>();
    const auto expected = whole.as<float>().matrix(head);
    return values.size() == expected.size() &&
           std::memcmp(values.data(), expected.data(), static_cast<std::size_t>(values.size()) * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("export: the pages of several sources leave as numbers too", "[view][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no page can be drawn");
        return;
    }
    const TemporaryFolder folder;
    const auto numbers_of = [&](const std::string& page) {
        const fs::path file = folder / (page + ".safetensors");
        const Outcome outcome = view({"--page", page, "--export", file.string(), "--region", "page"});
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
        return read_trace(file);
    };
    const Trace start = numbers_of("start");
    CHECK(is_head_of(start.at("attention"), tiny_answer()->trace.at("layer.2.probs"), State().head));
    for (const char* page : {"positions", "compare", "transformer-xl", "permutation", "text"})
        CHECK(start.find(page) != nullptr);

    const Trace text = numbers_of("text");
    const TextPageState shown;
    const auto study = TextStudies().answer({shown.documents, shown.stop_words, shown.topics, shown.pair});
    const auto same = [](const Stage& stage, const Matrix<double>& expected) {
        return stage.shape() == Shape{expected.rows(), expected.cols()} &&
               stage.as<double>().matrix().isApprox(expected, 0);
    };
    CHECK(same(text.at("counts"), study->tables->counts));
    CHECK(same(text.at("cosine of counts"), study->tables->by_counts));
    CHECK(same(text.at("cosine of tf-idf"), study->tables->by_weights));
    CHECK(same(text.at("latent semantics"), study->by_topics));
    CHECK(same(text.at("flow"), study->plan.movers.flow));
    CHECK(same(text.at("distances"), study->plan.movers.costs));
    const Matrix<double> nearness = 1 - study->tables->distances.array() / 2;
    CHECK(same(text.at("word mover's"), nearness));

    // The matrix of a head that the RoPE page shows, as the model's own pass has it.
    const ModelChoice choice = State().choices.roformer;
    const RotarySentence rotary(std::make_shared<const ModelSession>(choice.model, Family::roformer), choice);
    const RopeState rope;
    const fs::path head = folder / "head.safetensors";
    REQUIRE(view({"--page", "rope", "--set", "rope.shown=scores", "--export", head.string(), "--region", "matrix"})
                .status == 0);
    CHECK(read_trace(head).at("layer." + std::to_string(rope.layer) + ".scores").as<float>().matrix() ==
          rotary.scores(rope.layer, rope.head));

    // The report says how wide the gap is at the worst cell; the exported difference has to hold it.
    const Trace conformance = numbers_of("conformance");
    REQUIRE(conformance.stages().size() == 3);
    const Stage& reference = conformance.stages()[0];
    const Matrix<double> gap = conformance.stages()[1].as<double>().matrix() - reference.as<double>().matrix();
    CHECK(same(conformance.at(reference.name + ".difference"), gap));
    CHECK(max_abs(gap) > 0.01);
}

TEST_CASE("export: every number of a file is the trace's", "[view][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no page can be drawn");
        return;
    }
    const TemporaryFolder folder;
    const auto at = [&](const char* name) { return (folder / name).string(); };
    const Outcome outcome = view({"--export", at("page.safetensors"), "--region", "page", "--export",
                                  at("layer.safetensors"), "--region", "layer", "--export", at("c2p.npy"), "--region",
                                  "c2p", "--export", at("probs.csv"), "--region", "layer.2.probs"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const auto answer = tiny_answer();
    REQUIRE(answer->error.empty());
    const Index head = State().head;

    const Trace page = read_trace(folder / "page.safetensors");
    CHECK(page.names() == std::vector<std::string>{"layer.2.c2c", "layer.2.c2p", "layer.2.p2c", "layer.2.scores",
                                                   "layer.2.probs", "strength", "share"});
    for (const Stage& stage : page.stages())
        if (stage.name.starts_with("layer.")) CHECK(is_head_of(stage, answer->trace.at(stage.name), head));

    const Trace layer = read_trace(folder / "layer.safetensors");
    CHECK(layer.names() == answer->trace.names());
    for (const Stage& stage : layer.stages()) {
        INFO(stage.name);
        const Stage& expected = answer->trace.at(stage.name);
        REQUIRE(stage.shape() == expected.shape());
        CHECK(std::memcmp(stage.as<float>().data(), expected.as<float>().data(),
                          static_cast<std::size_t>(stage.size()) * sizeof(float)) == 0);
    }
    std::string stored;
    CHECK(is_head_of(read_npy(folder / "c2p.npy", stored), answer->trace.at("layer.2.c2p"), head));

    std::istringstream csv(read_file(folder / "probs.csv"));
    std::string line, header;
    std::getline(csv, header);
    CHECK(header.starts_with("layer.2.probs head 3,[CLS],a,new"));
    const auto probabilities = answer->trace.at("layer.2.probs").as<float>().matrix(head);
    Index i = 0;
    for (; std::getline(csv, line); ++i) {
        std::istringstream row(line);
        std::string field;
        std::getline(row, field, ',');
        for (Index j = 0; std::getline(row, field, ','); ++j)
            CHECK(std::strtof(field.c_str(), nullptr) == probabilities(i, j));
    }
    CHECK(i == answer->length());
}

// What page Training exports, beside the same training run here.

namespace {

constexpr const char* kText = "the cat of tom chased the dog of emma.";

std::string sixty_sentences() {
    std::string text;
    const char* names[] = {"tom", "emma", "ruth", "ben", "anna"};
    for (int n = 0; n < 60; ++n)
        text += std::string("the cat of ") + names[n % 5] + " chased the dog of " + names[n % 7 % 5] + ".\n";
    return text;
}

bool same(const Stage& found, const Matrix<float>& expected) {
    const auto& values = found.as<float>();
    return found.shape() == Shape{expected.rows(), expected.cols()} &&
           std::memcmp(values.data(), expected.data(), static_cast<std::size_t>(values.size()) * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("export: page Training leaves one head's terms, both curves and every loss",
          "[view][training][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no page can be drawn");
        return;
    }
    const TemporaryFolder folder;
    const std::string corpus = write_bytes(folder / "corpus.txt", sixty_sentences()).string();
    const fs::path file = folder / "training.safetensors";
    // The animation stands at the second snapshot, layer and head are others than at the start.
    const Outcome outcome = view({"--page",   "training",         "--set",    "training.corpus=" + corpus,
                                  "--set",    "training.steps=2", "--set",    "training.seed=3",
                                  "--set",    "training.run=yes", "--set",    std::string("training.text=") + kText,
                                  "--set",    "training.masked=", "--set",    "training.film=1",
                                  "--set",    "training.layer=1", "--set",    "training.head=2",
                                  "--export", file.string(),      "--region", "page"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const Trace found = read_trace(file);

    CourseBoard board({});
    const auto course = Courses().run({corpus, 2, 60, 3, true}, board);
    LookQuery query{course->subject, {}, kText, {}};
    for (const CourseSnapshot& snapshot : course->snapshots) query.snapshots.push_back(snapshot.values);
    const auto look = TrainingLooks().answer(query);
    REQUIRE(look->snapshots.size() == 3);
    for (const std::string stage : {"layer.1.c2c", "layer.1.c2p", "layer.1.p2c"}) {
        INFO(stage);
        CHECK(same(found.at(stage), look->snapshots[1]->trace.at(stage).as<float>().matrix(2)));
    }
    const HeadHistory animation = head_history(*look, 1, 2);
    for (const auto& [name, curve] : {std::pair("curve c2p", &animation.c2p), std::pair("curve p2c", &animation.p2c)}) {
        INFO(name);
        const auto& values = found.at(name).as<double>();
        REQUIRE(values.shape() == Shape{2 * kCurveReach + 1, 3});
        for (Index n = 0; n < 3; ++n)
            for (Index d = 0; d <= 2 * kCurveReach; ++d)
                CHECK(values.matrix()(d, n) == curve->means[static_cast<std::size_t>(n)][static_cast<std::size_t>(d)]);
    }
    const Matrix<double> snapshots = found.at("snapshots").as<double>().matrix(),
                         losses = found.at("loss").as<double>().matrix();
    REQUIRE((snapshots.rows() == 3 && snapshots.cols() == 3));
    REQUIRE((losses.rows() == 2 && losses.cols() == 2));
    CHECK(std::isnan(snapshots(0, 1)));  // nothing was learnt yet
    for (Index n = 0; n < 3; ++n) CHECK(snapshots(n, 2) == course->snapshots[static_cast<std::size_t>(n)].heldout);
    for (Index n = 0; n < 2; ++n) CHECK(losses(n, 1) == course->steps[static_cast<std::size_t>(n)].loss);
    CHECK(losses(0, 0) < losses(1, 0));  // seconds
    CHECK(snapshots(2, 0) >= losses(1, 0));
    CHECK(snapshots(1, 1) == losses(0, 1));
}

TEST_CASE("export: how much each term moves a head, over all heads and by distance, leaves as numbers",
          "[view][attention][export][cli]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const std::string page = (folder / "page.safetensors").string(), shares = (folder / "shares.safetensors").string();
    REQUIRE(view({"--page", "attention", "--layer", "2", "--head", "3", "--export", page}).status == 0);
    REQUIRE(view({"--page", "attention", "--set", "attention.picture=heads", "--export", shares, "--region", "shares"})
                .status == 0);
    const Trace terms = read_trace(page);
    const Matrix<double> of_heads = read_trace(shares).at("shares").as<double>().matrix();
    REQUIRE((of_heads.rows() == 36 && of_heads.cols() == 3));
    // A number that a whole row has in common moves nothing: what counts is how far a term is from its row's mean.
    Eigen::Array3d moves;
    for (Index n = 0; n < 3; ++n) {
        const char* stems[] = {"c2c", "c2p", "p2c"};
        const Matrix<double> term = terms.at(std::string("layer.2.") + stems[n]).as<float>().matrix().cast<double>();
        moves[n] = (term.colwise() - term.rowwise().mean()).cwiseAbs().sum();
        const Matrix<double> strength = terms.at("strength").as<double>().matrix();
        REQUIRE((strength.rows() == 2 * term.rows() - 1 && strength.cols() == 3));
        const Index d = -2;  // i - j
        CHECK(strength(d + term.rows() - 1, n) == Approx(term.diagonal(-d).cwiseAbs().mean()).epsilon(1e-5));
    }
    for (Index n = 0; n < 3; ++n) CHECK(of_heads(2 * 6 + 3, n) == Approx(moves[n] / moves.sum()).epsilon(1e-5));
    const Matrix<double> by_distance = terms.at("share").as<double>().matrix();
    for (Index d = 0; d < by_distance.rows(); ++d) CHECK(by_distance.row(d).sum() == Approx(1));
}

}  // namespace locus::test::test_exported_files
