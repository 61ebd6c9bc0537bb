// Numbers that leave the program: CSV, .npy and safetensors of what is on screen, against the trace.
#include <catch2/catch.hpp>

#include <cstring>
#include <sstream>

#include "core/io/npy.h"
#include "core/io/safetensors.h"
#include "tests/max_abs.h"
#include "tests/viewer/run_view.h"
#include "viewer/data/deberta_session.h"
#include "viewer/data/text_study.h"
#include "viewer/state/state.h"

namespace locus::test::test_exported_numbers {

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
    CHECK(page.names() ==
          std::vector<std::string>{"layer.2.c2c", "layer.2.c2p", "layer.2.p2c", "layer.2.scores", "layer.2.probs"});
    for (const Stage& stage : page.stages()) CHECK(is_head_of(stage, answer->trace.at(stage.name), head));

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

}  // namespace locus::test::test_exported_numbers
