// The table of what each term is worth: five models, the same budget, and when a difference is one.
#include <catch2/catch.hpp>

#include "core/text/corpus/position_grammar.h"
#include "core/training/ablation.h"
#include "tests/files.h"
#include "tests/temporary_folder.h"

namespace locus::test::test_ablation_training {

namespace {

TrainingTask tiny_task(const fs::path& corpus) {
    TrainingTask task;
    task.corpus = corpus;
    task.config = small_training_config();
    task.config.hidden_size = task.config.embedding_size = 16;
    task.config.num_hidden_layers = task.config.num_attention_heads = 2;
    task.config.attention_head_size = 8;
    task.config.intermediate_size = 16;
    task.plan.steps = 2;
    task.plan.warmup = 0;
    task.batch_tokens = 64;
    task.heldout = 0.2;
    return task;
}

AblationRow row_of(std::vector<double> losses) { return {ablated_models().front(), std::move(losses)}; }

}  // namespace

TEST_CASE("ablation: five models, each without what its name says, all for the same steps and seeds", "[training]") {
    const TemporaryFolder folder;
    std::string text;
    for (const std::string& sentence : position_sentences(3, 60)) text += sentence + "\n";
    const fs::path corpus = write_bytes(folder / "corpus.txt", text);
    ThreadPool pool(1);
    std::vector<std::string> seen;
    const auto rows = ablate(tiny_task(corpus), {1, 9}, folder.path(), pool, [&](const AblationMoment& at) {
        seen.push_back(at.model.name + " " + std::to_string(at.seed) + " " + std::to_string(at.step.step));
        CHECK(at.runs == 10);
        return true;
    });
    REQUIRE(rows.size() == 5);
    CHECK(seen.size() == 20);
    CHECK(seen.front() == "all terms 1 1");
    CHECK(seen.back() == "without c2p and p2c 9 2");
    for (const AblationRow& row : rows) {
        INFO(row.model.name);
        REQUIRE(row.losses.size() == 2);
        CHECK(row.losses[0] != row.losses[1]);
        const TrainingTask task = ablated_task(tiny_task(corpus), row.model, 4);
        CHECK(task.config.terms.c2p == (row.model.name.find("c2p") == std::string::npos));
        CHECK(task.config.terms.p2c == (row.model.name.find("p2c") == std::string::npos));
        CHECK(task.plan.switches.decoder == (row.model.name.find("decoder") == std::string::npos));
        CHECK(task.plan.seed == 4);
        CHECK((&row == &rows.front() || row.losses[0] != rows.front().losses[0]));
    }
    int steps = 0;
    const auto begun =
        ablate(tiny_task(corpus), {1}, folder.path(), pool, [&](const AblationMoment&) { return ++steps < 3; });
    CHECK(begun[0].losses.size() == 1);
    CHECK(begun[1].losses.empty());
}

TEST_CASE("ablation: a difference within the spread of the seeds is none", "[training]") {
    CHECK(row_of({1, 2, 3}).mean() == 2);
    CHECK(row_of({1, 2, 3}).spread() == 1);
    CHECK(row_of({5}).spread() == 0);
    // Two standard errors of the difference: 2 sqrt(1/3 + 1/3) = 1.63.
    CHECK(differ_clearly(row_of({1, 2, 3}), row_of({2.7, 3.7, 4.7})));
    CHECK_FALSE(differ_clearly(row_of({1, 2, 3}), row_of({2.6, 3.6, 4.6})));
    CHECK_FALSE(differ_clearly(row_of({1}), row_of({9})));
}

TEST_CASE("ablation: a share that holds out no sentence, and a model that has run away, are refused", "[training]") {
    const TemporaryFolder folder;
    std::string text;
    for (const std::string& sentence : position_sentences(3, 24)) text += sentence + "\n";
    const fs::path corpus = write_bytes(folder / "corpus.txt", text);
    ThreadPool pool(1);
    const auto sentence = [&](const TrainingTask& task, Fault fault) {
        return refusal([&] { ablate(task, {4}, folder.path(), pool, [](const AblationMoment&) { return true; }); },
                       fault);
    };
    TrainingTask task = tiny_task(corpus);
    task.heldout = 0.02;  // of 24, less than half a sentence
    CHECK(sentence(task, Fault::usage) == "heldout is 0.02, which is none of the 24 sentences of " + corpus.string() +
                                              ", expected a larger share or more sentences to judge the models by");
    task.heldout = 0.2;
    task.plan.rate = 1e38;
    task.plan.steps = 1;
    CHECK(sentence(task, Fault::unsupported) ==
          "all terms, seed 4: step 1: the loss on sentences never seen is not a number any more, expected a lower rate "
          "than 1e+38");
    task.plan.steps = 9;
    CHECK_THAT(sentence(task, Fault::unsupported), Catch::StartsWith("all terms, seed 4: step 2: the loss is not a "));
}

TEST_CASE("ablation: what leaves nothing to leave out or to judge by is refused", "[training]") {
    ThreadPool pool(1);
    const auto refused = [&](auto change, const std::vector<std::uint64_t>& seeds, const std::string& named) {
        TrainingTask task = tiny_task("nowhere.txt");
        change(task);
        CHECK_THROWS_WITH(ablate(task, seeds, ".", pool, [](const AblationMoment&) { return true; }),
                          Catch::Contains(named));
    };
    refused([](TrainingTask&) {}, {}, "no seeds");
    refused([](TrainingTask& task) { task.heldout = 0; }, {1}, "heldout is 0");
    refused([](TrainingTask& task) { task.config.terms.p2c = false; }, {1}, "expected a configuration that has all");
    refused([](TrainingTask& task) { task.plan.switches.decoder = false; }, {1},
            "expected a configuration that has all");
    refused([](TrainingTask& task) { task.plan.objective = Objective::replaced_tokens; }, {1}, "objective mlm");
}

}  // namespace locus::test::test_ablation_training
