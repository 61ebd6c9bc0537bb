#pragma once
// The table of stage names: what each is, where it comes from, and where it stands in the order of a model.
#include <optional>
#include <string>
#include <vector>

namespace locus {

/// What is known of a stage by its name alone.
struct StageDescription {
    std::vector<std::string> axes;  // {"B", "H", "Tq", "Tk"}
    std::string formula;
    std::string source;
    std::string meaning;  // one sentence for people
};

/// How a model makes its scores: the same stage name has another formula in another family.
enum class Scheme {
    disentangled,     // DeBERTa
    rotary,           // RoFormer
    transformer_xl,   // relative sinusoids and memory
    two_stream,       // XLNet
    absolute,         // the original Transformer: sinusoids added to the words, nothing in the scores
    disentangled_ji,  // DeBERTa with p2c by delta(j,i), as the paper prints it
};

/// "layer.3.c2p" -> its description; nothing if no stage has that name.
std::optional<StageDescription> describe_stage(const std::string& name, Scheme scheme = Scheme::disentangled);

/// A name of every stage, in the order in which a model computes them; layers, memories and passes have the number 0.
std::vector<std::string> known_stages();

/// Sorts by the order in which a model computes them: "layer.0.output" before "layer.1.q" before "emd.0.q" before
/// "mlm.logits".  Unknown names compare after all known ones, alphabetically among themselves.
bool stage_comes_before(const std::string& a, const std::string& b);

/// The number of a layer, pass or segment that begins at a place of any name: 12 of "layer.12.q" at 6.  0 where no
/// digit stands there, and 2147483647 where it is more: names come from files.
int number_in_name(const std::string& name, std::size_t at);
/// s of "segment.s.layer.0.q", 0 of a name without segment.
int segment_of(const std::string& name);

}  // namespace locus
