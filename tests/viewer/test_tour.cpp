// The tour: every step leads to a page that is there, and the reader's sentence comes back.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "tests/max_abs.h"
#include "viewer/data/previews.h"
#include "viewer/pages/page_names.h"
#include "viewer/state/state.h"

namespace locus::test::test_tour {

TEST_CASE("tour: it visits every step in order, ends, and gives the sentence back", "[view][tour]") {
    State state;
    state.text = "my own words";
    state.layer = 9;
    std::set<std::string> seen;
    for (Index step = 0; step < static_cast<Index>(tour_steps().size()); ++step) {
        go_to_step(state, state.tour.step + 1, 2, 1);
        REQUIRE(state.tour.step == step);
        CHECK(state.page == tour_steps()[static_cast<std::size_t>(step)].page);
        CHECK(state.layer == 1);  // within a model of two layers and one head
        CHECK(state.head == 0);
        seen.insert(state.page);
    }
    CHECK(seen.size() == tour_steps().size());
    CHECK(state.text != "my own words");
    go_to_step(state, state.tour.step + 1, 2, 1);
    CHECK(state.tour.step == -1);
    CHECK(state.text == "my own words");
    CHECK(state.page == "start");
}

TEST_CASE("tour: the reader's documents stay, whatever else is put back", "[view][tour]") {
    State state;
    state.text_page.documents = "mine\nand mine";
    state.text_page.pair = {1, 0};
    state.rope.m = 40;
    state.tokens = "1,2,3";
    state.mask = "1,1,0";
    state.dialect = Dialect::hf;
    state.cell = {7, 1};
    state.locked = !State{}.locked;
    state.view = {1, 1, 4};
    state.choices.xlnet.text = "another one";
    state.positions.cell = {1, 9};
    state.memory.memory = 1;
    state.permutation.sentence = 2;
    state.compare.make_mistake("7");
    state.masked = {4};
    state.attention.kept.c2p = false;
    state.shown_term = 0;
    state.decoder_head = 2;
    state.strength = 0;
    state.decoder.at_input = true;
    state.training.run = true;
    state.training.seed = 4;
    state.training.layer = 1;
    state.editing = true;
    go_to_step(state, 0, 6, 6);
    CHECK(state.mask.empty());
    CHECK(state.masked.empty());
    CHECK(state.attention.kept.c2p);
    CHECK(state.shown_term == State{}.shown_term);
    CHECK(state.decoder_head == State{}.decoder_head);
    CHECK(state.strength == State{}.strength);
    CHECK_FALSE(state.decoder.at_input);
    CHECK(state.dialect == State{}.dialect);
    CHECK(state.cell == State{}.cell);
    CHECK(state.locked == State{}.locked);
    CHECK(state.view.fits_all());
    CHECK(state.choices.xlnet == State{}.choices.xlnet);
    CHECK(state.tour.choices.xlnet != State{}.choices.xlnet);
    CHECK(state.positions.cell == State{}.positions.cell);
    CHECK(state.memory.memory == State{}.memory.memory);
    CHECK(state.permutation.sentence == State{}.permutation.sentence);
    CHECK(state.compare.b.mistake.empty());
    CHECK(state.training.run);  // nothing that was learnt is lost
    CHECK(state.training.seed == 4);
    CHECK(state.training.layer == State{}.training.layer);
    CHECK_FALSE(state.editing);
    CHECK(state.text_page.documents == "mine\nand mine");
    CHECK(state.text_page.pair == TextPageState{}.pair);
    CHECK(state.rope.m == RopeState{}.m);
    CHECK(state.tokens.empty());
    go_to_step(state, -3, 6, 6);
    CHECK(state.tour.step == 0);
    end_tour(state);
    end_tour(state);
    CHECK(state.choices.xlnet.text == "another one");
    CHECK(state.text == State{}.text);
}

TEST_CASE("tour: its pages and those of the built-in models are on the rail, its sentences fit a line",
          "[view][tour]") {
    const auto on_the_rail = [](const std::string& page) {
        return std::any_of(page_names().begin(), page_names().end(),
                           [&](const PageName& known) { return page == known.name; });
    };
    for (const TourStep& step : tour_steps()) {
        INFO(step.page);
        CHECK(on_the_rail(step.page));
        CHECK(std::string(step.sentence).size() < 120);
    }
    for (const BuiltInModel& model : built_in_models()) CHECK(on_the_rail(model.page));
    CHECK_FALSE(on_the_rail("nowhere"));
}

TEST_CASE("previews: every built-in model opens and has something to show", "[view][tour]") {
    const Previews previews = make_previews();
    REQUIRE(previews.before.size() == previews.after.size());
    CHECK(previews.before.size() == 16);
    for (std::size_t n = 0; n < previews.before.size(); ++n)  // a turn keeps the length
        CHECK(std::hypot(previews.before[n].x, previews.before[n].y) ==
              Approx(std::hypot(previews.after[n].x, previews.after[n].y)));
    for (const auto* probabilities : {&previews.memory, &previews.permuted}) {
        REQUIRE(probabilities->size() > 0);
        CHECK(max_abs(probabilities->rowwise().sum().array() - 1) < 1e-5f);
    }
    CHECK(previews.memory.cols() == 2 * previews.memory.rows());
    CHECK(previews.nearness.diagonal().isOnes(1e-6f));
    CHECK(previews.nearness.maxCoeff() <= 1);
    REQUIRE(previews.sizes.size() == built_in_models().size());
    for (const std::string& size : previews.sizes) CHECK(size.find(" MB") != std::string::npos);
}

}  // namespace locus::test::test_tour
