#pragma once
// The fused kernels beside what others make of the same tensors, call by call in turn.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/bench/cuda/against_peers.h"
#include "tests/bench/cuda/rows_apart.h"

namespace locus::bench {

struct AgainstOptions {
    std::string python;     // whose torch; empty: default_python()
    bool rehearse = false;  // small shapes on the processor: programs, tensors and errors, no times to quote
    bool tune = false;      // peers that can tune themselves here may
    double seconds = 480;   // after which no peer is waited for any longer
};

std::string python_of(const AgainstOptions& options);

/// {"torch": version, ...} as the peers' Python says, or the sentence why it has none.
nlohmann::ordered_json peer_packages(const AgainstOptions& options);

/// Rows {"what", B, H, T, d, ..., "ways": [{"name", "how", "ms", "error"} or {"name", "not_measured"}], "ratios":
/// [{"of", "to", "value", "goal", "met"}]}; of a row that was cut off the ways known by then.  "ours" is the first way.
Plan plan_against(const AgainstOptions& options, const Narrowing& narrowing);

/// `measured`: {"rehearsal": false, "rows": [...]}.

std::string against_table(const nlohmann::ordered_json& measured);

/// How many times ours are as fast as the best peer, Hugging Face eager and disentangled-flash; a goal of 0 is none.
/// A peer whose error is above a tenth of the largest number, or that leaves positions out, is shown but does not count
/// as the best.
nlohmann::ordered_json ratios(const nlohmann::ordered_json& ways, double best, double hugging_face,
                              double disentangled_flash);

/// The whole encoder beside what others make of the same weights and tokens, call by call in turn: a row like those of
/// plan_against: deberta-v3-base's shape in bfloat16, B 16, T 512; its error is that of one sample. rehearse: a
/// small model on the processor, without times to quote.
nlohmann::ordered_json measure_encoder_against(bool rehearse, const Narrowing& narrowing, Peers& peers,
                                               const Plan::SoFar& so_far);
nlohmann::ordered_json describe_encoder_against(bool rehearse);

}  // namespace locus::bench
