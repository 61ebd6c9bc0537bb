#pragma once
// The whole encoder beside what others make of the same weights and tokens, call by call in turn.
#include "tests/bench/cuda/against_peers.h"

namespace locus::bench {

/// A row like those of measure_against: deberta-v3-base's shape in bfloat16, B 16, T 512; its error is that of one
/// sample. rehearse: a small model on the processor, without times to quote.
nlohmann::ordered_json measure_encoder_against(bool rehearse, Peers& peers);

}  // namespace locus::bench
