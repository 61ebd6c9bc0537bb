// The step that moves a model: it learns, goes on where it was saved, and stops at the first number that is none.
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "core/training/parameters.h"
#include "core/training/trainer.h"
#include "tests/random_model.h"

namespace locus::test::test_trainer {

namespace {

/// Sentences a b a b ... and c d c d ...: every masked word follows from its neighbours.
PackedBatch easy_batch(std::uint64_t seed) {
    RandomStream random(seed, 5);
    PackedBatch batch;
    batch.starts = {0};
    for (int sentence = 0; sentence < 8; ++sentence) {
        const auto pair = static_cast<std::int64_t>(4 + 2 * random.next_below(8));
        batch.tokens.push_back(1);
        batch.labels.push_back(0);
        for (int n = 0; n < 6; ++n) {
            const std::int64_t word = pair + n % 2;
            const bool target = random.next_below(6) == 0;
            batch.tokens.push_back(target ? 36 : word);
            batch.labels.push_back(target ? word : 0);
        }
        batch.starts.push_back(batch.rows());
    }
    return batch;
}

TrainingPlan small_plan() {
    TrainingPlan plan;
    plan.steps = 60;
    plan.warmup = 5;
    plan.rate = 1e-2;
    return plan;
}

bool same_bits(const Parameters<float>& a, const Parameters<float>& b) {
    return a.size() == b.size() &&
           std::memcmp(a.numbers().data(), b.numbers().data(), static_cast<std::size_t>(a.size()) * sizeof(float)) == 0;
}

std::string refusal(const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("trainer: the loss falls under every objective", "[training]") {
    TrainingPlan plan = small_plan();
    plan.steps = 250;
    const int kind = GENERATE(0, 1, 2);
    if (kind == 1) plan.sift = SiftSettings{};
    if (kind == 2) plan.objective = Objective::replaced_tokens;
    ThreadPool pool(2);
    DebertaConfig config = small_config();
    config.num_hidden_layers = 4;
    Trainer trainer(config, plan, pool);
    CHECK(trainer.words().config.num_hidden_layers == (kind == 2 ? 2 : 4));
    const double before = trainer.evaluate(easy_batch(1000));
    CHECK(std::abs(before - std::log(37.0)) < 0.5);
    double detection = 0;
    for (std::uint64_t step = 0; step < 250; ++step) detection = trainer.step(easy_batch(step)).detection;
    CHECK(trainer.steps() == 250);
    CHECK(trainer.evaluate(easy_batch(1000)) < 0.6 * before);
    CHECK((detection > 0) == (kind == 2));
}

TEST_CASE("trainer: a run that goes on is the run that never stopped, bit for bit", "[training]") {
    TrainingPlan plan = small_plan();
    const int kind = GENERATE(0, 1, 2);
    if (kind == 1) plan.sift = SiftSettings{};
    if (kind == 2) plan.objective = Objective::replaced_tokens;
    ThreadPool one(1), three(3);
    DebertaConfig config = small_config();
    config.num_hidden_layers = 4;
    Trainer whole(config, plan, one), first(config, plan, three);
    for (std::uint64_t step = 0; step < 8; ++step) whole.step(easy_batch(step));
    for (std::uint64_t step = 0; step < 3; ++step) first.step(easy_batch(step));

    plan.seed = 1;
    Trainer second(config, plan, one);
    const auto hand_over = [](TrainedNetwork& from, TrainedNetwork& to) {
        to.values = from.values;
        to.optimiser.restore(from.optimiser.steps(), from.optimiser.first(), from.optimiser.second());
    };
    hand_over(first.words(), second.words());
    if (kind == 2) hand_over(*first.detector(), *second.detector());
    second.restore(first.steps());
    for (std::uint64_t step = 3; step < 8; ++step) second.step(easy_batch(step));
    CHECK(same_bits(whole.words().values, second.words().values));
    if (kind == 2) CHECK(same_bits(whole.detector()->values, second.detector()->values));
    Trainer other(config, plan, one);
    other.step(easy_batch(0));
    CHECK_FALSE(same_bits(whole.words().values, other.words().values));
}

TEST_CASE("trainer: every step drops other numbers", "[training]") {
    TrainingPlan plan = small_plan();
    plan.rate = 1e-30;  // the parameters stay where they are
    ThreadPool pool(1);
    Trainer trainer(small_config(), plan, pool);
    const double first = trainer.step(easy_batch(3)).loss, second = trainer.step(easy_batch(3)).loss;
    CHECK(first != second);
    plan.hidden_dropout = plan.attention_dropout = 0;
    Trainer plain(small_config(), plan, pool);
    const double third = plain.step(easy_batch(3)).loss;
    CHECK(third == plain.step(easy_batch(3)).loss);
    // SiFT's noise and the generator's draws are new in every step as well.
    plan.sift = SiftSettings{};
    Trainer noisy(small_config(), plan, pool);
    const double noise = noisy.step(easy_batch(3)).sift;
    CHECK(noise != noisy.step(easy_batch(3)).sift);
    plan.sift.reset();
    plan.objective = Objective::replaced_tokens;
    DebertaConfig config = small_config();
    config.num_hidden_layers = 4;
    Trainer drawing(config, plan, pool);
    const double drawn = drawing.step(easy_batch(3)).detection;
    CHECK(drawn != drawing.step(easy_batch(3)).detection);
}

TEST_CASE("trainer: with GDES both models see one table at first", "[training][rtd]") {
    TrainingPlan plan = small_plan();
    plan.objective = Objective::replaced_tokens;
    ThreadPool pool(1);
    DebertaConfig config = small_config();
    config.num_hidden_layers = 4;
    Trainer trainer(config, plan, pool);
    CHECK(trainer.detector()->values.row(kWordTable).isZero(0));
    CHECK(trainer.detector_values().row(kWordTable) == trainer.words().values.row(kWordTable));
    trainer.step(easy_batch(0));
    CHECK_FALSE(trainer.detector()->values.row(kWordTable).isZero(0));
    // The table of absolute positions is shared in the same way where both have one.
    DebertaConfig biased = config;
    biased.position_biased_input = true;
    plan.switches.decoder = false;
    for (const bool shared : {true, false}) {
        plan.sharing = shared ? EmbeddingSharing::gdes : EmbeddingSharing::none;
        Trainer positions(biased, plan, pool);
        REQUIRE(positions.words().values.has(kAbsoluteTable));
        CHECK(positions.detector()->values.row(kAbsoluteTable).isZero(0) == shared);
        CHECK((positions.detector_values().row(kAbsoluteTable) == positions.words().values.row(kAbsoluteTable)) ==
              shared);
    }
    plan.switches.decoder = true;
    plan.sharing = EmbeddingSharing::es;
    Trainer shared(config, plan, pool);
    shared.step(easy_batch(0));
    CHECK(shared.detector()->values.row(kWordTable).isZero(0));  // the generator's table hears both losses
    plan.sharing = EmbeddingSharing::none;
    Trainer apart(config, plan, pool);
    CHECK_FALSE(apart.detector()->values.row(kWordTable).isZero(0.001));
}

TEST_CASE("trainer: a loss that is no number stops the run, names the stage and moves nothing", "[training]") {
    ThreadPool pool(1);
    DebertaConfig config = small_config();
    Trainer trainer(config, small_plan(), pool);
    trainer.step(easy_batch(0));
    trainer.words().values.row("encoder.layer.1.attention.self.key_proj.weight")[3] =
        std::numeric_limits<float>::quiet_NaN();
    const Parameters<float> before = trainer.words().values;
    const std::string sentence = refusal([&] { trainer.step(easy_batch(1)); });
    CHECK(sentence ==
          "step 2: the loss is not a number; the first stage that went wrong is layer.1.k, expected a lower rate than "
          "0.01");
    CHECK(trainer.steps() == 1);
    CHECK(same_bits(before, trainer.words().values));
}

TEST_CASE("trainer: a run that was shorter than its warm-up for a while has it again", "[training]") {
    ThreadPool pool(1);
    Trainer trainer(small_config(), small_plan(), pool);
    trainer.set_steps(3);  // all of it on the way up
    CHECK(trainer.step(easy_batch(1)).rate == Approx(small_plan().rate / 3));
    trainer.set_steps(60);
    CHECK(trainer.plan().warmup == small_plan().warmup);
    CHECK(trainer.step(easy_batch(1)).rate == Approx(small_plan().rate * 2 / 5));
    CHECK(refusal([&] { trainer.set_steps(0); }).starts_with("steps is 0"));
    CHECK(trainer.plan().steps == 60);
}

TEST_CASE("trainer: a warm-up that follows the number of steps is a tenth of them, up to the longest", "[training]") {
    ThreadPool pool(1);
    TrainingPlan plan = small_plan();
    plan.warmup_follows = true;
    Trainer trainer(small_config(), plan, pool);
    trainer.set_steps(20);  // the first 2 on the way up
    CHECK(trainer.step(easy_batch(1)).rate == Approx(plan.rate / 2));
    CHECK(trainer.step(easy_batch(1)).rate == Approx(plan.rate));
    trainer.set_steps(1000);
    CHECK(trainer.step(easy_batch(1)).rate == Approx(plan.rate * 3 / 5));
}

TEST_CASE("trainer: a plan that cannot be followed is refused by the name of its field", "[training]") {
    const auto refused = [](auto change) {
        TrainingPlan plan = small_plan();
        change(plan);
        return refusal([&] { check_plan(plan); });
    };
    CHECK(refused([](TrainingPlan&) {}).empty());
    CHECK(refused([](TrainingPlan& p) { p.hidden_dropout = 1; }).starts_with("hidden_dropout is 1"));
    CHECK(refused([](TrainingPlan& p) { p.attention_dropout = -0.1; }).starts_with("attention_dropout is -0.1"));
    CHECK(refused([](TrainingPlan& p) { p.rate = 0; }).starts_with("rate is 0"));
    CHECK(refused([](TrainingPlan& p) { p.clip = std::nan(""); }).starts_with("clip is nan"));
    CHECK(refused([](TrainingPlan& p) { p.steps = 0; }).starts_with("steps is 0"));
    CHECK(refused([](TrainingPlan& p) { p.warmup = 61; }).starts_with("warmup is 61"));
    CHECK(refused([](TrainingPlan& p) {
              p.sift = SiftSettings{};
              p.objective = Objective::replaced_tokens;
          }).starts_with("SiFT goes with"));
}

}  // namespace locus::test::test_trainer
