// One step of masked language modelling at the shape of tiny-v3, beside transformers' and torch's AdamW.
#include <sys/resource.h>

#include <fstream>
#include <iostream>
#include <random>

#include "core/io/checkpoint.h"
#include "core/training/parameters.h"
#include "core/training/trainer.h"
#include "tests/bench/peer.h"
#include "tests/temporary_folder.h"

namespace locus::bench::train {

namespace {

namespace fs = std::filesystem;

constexpr Index kSentences = 32, kTokens = 64;
constexpr double kDropout = 0.1;

PackedBatch random_batch(Index words) {
    std::mt19937 generator(1);
    PackedBatch batch;
    for (Index b = 0; b <= kSentences; ++b) batch.starts.push_back(b * kTokens);
    for (Index n = 0; n < kSentences * kTokens; ++n) {
        batch.tokens.push_back(4 + static_cast<std::int64_t>(generator() % static_cast<unsigned>(words - 4)));
        batch.labels.push_back(generator() % 100 < 15 ? batch.tokens.back() : 0);
    }
    return batch;
}

TrainingPlan plan_of(bool decoder) {
    TrainingPlan plan;
    plan.switches.decoder = decoder;
    plan.hidden_dropout = plan.attention_dropout = kDropout;
    plan.rate = 1e-4;
    return plan;
}

/// Our own peak, in the process that has measured nothing else before.
double peak_megabytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// What a forward pass keeps for its backward pass, in MB.
double tape_megabytes(const DebertaConfig& config, bool checkpointing) {
    ThreadPool pool(2);
    Trainer trainer(config, plan_of(true), pool);
    DebertaTraining<float> model(config, {true, checkpointing}, pool);
    const PackedBatch batch = random_batch(config.vocab_size);
    const Parameters<float>& values = trainer.words().values;
    return static_cast<double>(model.forward(values, batch, model.embedding_sum(values, batch), {}).bytes()) / 1e6;
}

/// What the peer has to know to make the same model and the same batch.
nlohmann::json request_of(const Checkpoint& checkpoint, const Parameters<float>& values, const PackedBatch& batch,
                          const fs::path& file, int threads) {
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.numbers().data()), values.size() * Index{sizeof(float)});
    nlohmann::json tensors = nlohmann::json::array();
    for (const auto& one : values.entries()) tensors.push_back({one.name, one.shape});
    return {{"do", "train"},           {"config", nlohmann::json::parse(checkpoint.config_json)},
            {"values", file.string()}, {"tensors", tensors},
            {"sentences", kSentences}, {"ids", batch.tokens},
            {"labels", batch.labels},  {"dropout", kDropout},
            {"threads", threads}};
}

void measure(int threads, Peer* peer, const Checkpoint& checkpoint, const fs::path& folder, Measures& measures) {
    const std::string shape = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    std::cerr << "locus bench: train, " << shape << std::endl;
    const DebertaConfig config = parse_deberta_config(checkpoint.config_json, checkpoint.config_file.string());
    const PackedBatch batch = random_batch(config.vocab_size);
    ThreadPool pool(threads);
    Trainer plain(config, plan_of(false), pool), decoding(config, plan_of(true), pool);
    std::vector<Way> ways = {our_way("ours, one step", [&] { plain.step(batch); }),
                             our_way("ours, one step with the mask decoder", [&] { decoding.step(batch); })};
    if (peer) {
        const double loss = plain.evaluate(batch);
        const nlohmann::json answer =
            peer->ask(request_of(checkpoint, plain.words().values, batch, folder / "values", threads));
        // Ten times float32's rounding of a mean near ln V, summed over a few hundred targets.
        const double difference = std::abs(answer["loss"].get<double>() - loss);
        LOCUS_CHECK(difference <= 1e-4, "bench train: the losses of one model are " + std::to_string(loss) + " and " +
                                            std::to_string(answer["loss"].get<double>()) + " (transformers)");
        ways.push_back(peer_way(*peer, "step"));
        ways.back().name = "Hugging Face, one step";
    }
    const Rounds rounds = time_in_turn(ways, 5, 10);
    for (std::size_t n = 0; n < ways.size(); ++n) {
        const Spent spent = rounds.median(n);
        measures.push_back({shape + ": " + ways[n].name, spent.wall, "ms", 0, true, -1, spent.processor});
    }
    if (!peer) return;
    const Spent times = rounds.ratio(2, 0);
    measures.push_back(
        {shape + ": Hugging Face / ours", times.wall, "x", threads == 2 ? 1.3 : 0, true, -1, times.processor});
}

}  // namespace

void measure(const Options& options, Measures& measures) {
    keep_freed_memory();
    const test::TemporaryFolder folder;
    const std::unique_ptr<Peer> peer = open_peer(options, "torch");
    const Checkpoint checkpoint = open_checkpoint(resolve_model("tiny-v3"));
    for (const int threads : {2, 1}) measure(threads, peer.get(), checkpoint, folder.path(), measures);
    const DebertaConfig config = parse_deberta_config(checkpoint.config_json, checkpoint.config_file.string());
    const double ours = peak_megabytes();
    const double whole = tape_megabytes(config, false), inputs = tape_megabytes(config, true);
    measures.push_back({"kept for the backward pass, mask decoder", whole, "MB"});
    measures.push_back({"the same with gradient checkpointing", inputs, "MB"});
    measures.push_back({"plain / checkpointing", whole / inputs, "x"});
    // Both of our models with their optimisers are in memory at once, so this is above what one run needs.
    measures.push_back({"peak resident memory: ours, two models", ours, "MB"});
    if (peer) {
        const double theirs = peer->ask({{"do", "memory"}})["megabytes"];
        measures.push_back({"peak resident memory: Hugging Face, one model", theirs, "MB"});
        measures.push_back({"peak resident memory: ours / Hugging Face", ours / theirs, "x", 0.7, false});
    }
}

}  // namespace locus::bench::train
