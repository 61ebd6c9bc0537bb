#pragma once
// The catalogue of mistakes that ports make: what people do, how it shows, and the formulas it puts in place of the
// right ones.  The mistakes themselves stand in the files beside this one, by group and in the order of their numbers.
#include <functional>
#include <string>
#include <vector>

#include "core/conformance/diagnosis/replay.h"

namespace locus::conformance {

/// One way to make the mistake, e.g. "centre at k - 1" and "centre at k + 1".
struct Variant {
    std::string how;                      // one clause; empty if there is only one way
    std::vector<Formula> formulas;        // what it puts in place of the right ones
    std::vector<std::string> stems = {};  // stages that this way makes wrong first; empty: those of the mistake
    /// Of a way that leaves a number open: what the candidate shows of it, e.g. "base 42000"; may throw NotEnough.
    std::function<std::string(const Replay&)> measured = {};
};

struct Mistake {
    int number = 0;        // of the catalogue, 1 ... 143
    bool is_rare = false;  // named after every other one that makes the same numbers
    std::string name;      // "p2c reads delta(j,i), as the paper prints it"
    std::string symptom;   // what the porter sees
    std::string betrays;   // how to recognise it: the number that tells it from others
    std::string evidence;  // a public issue or pull request, or the source that prints it; empty if none is known
    std::string lesson;    // "09"
    std::vector<Family> families;
    std::vector<std::string> stems;  // stages it makes wrong first
    std::vector<Variant> variants;
};

/// All of them, in the order of their numbers.
const std::vector<Mistake>& catalogue();
/// Throws Error(usage) naming the numbers there are.
const Mistake& mistake_of(int number);

/// The stages that a mistake makes wrong first, by the names that dumps have; N stands for the number of any layer.
std::vector<std::string> first_wrong_stages(const Mistake& mistake);

/// The catalogue in words as one JSON object that core/io/mistake_list.h reads; ends with a newline.
/// assets/mistakes.json holds it, `locus check --catalogue --json` prints it.
std::string catalogue_json();
/// A line per mistake: number, name, lesson.
std::string catalogue_text();

// The groups, one file each.
std::vector<Mistake> term_gather_mistakes();           // 1 to 6
std::vector<Mistake> relative_index_mistakes();        // 7 to 15
std::vector<Mistake> log_bucket_mistakes();            // 16 to 21
std::vector<Mistake> projection_and_scale_mistakes();  // 22 to 30
std::vector<Mistake> mask_mistakes();                  // 31 to 35
std::vector<Mistake> softmax_mistakes();               // 36
std::vector<Mistake> dropout_mistakes();               // 37
std::vector<Mistake> softmax_backward_mistakes();      // 38
std::vector<Mistake> gelu_mistakes();                  // 39
std::vector<Mistake> norm_mistakes();                  // 40 to 42
std::vector<Mistake> layer_and_input_mistakes();       // 43 to 45
std::vector<Mistake> mask_decoder_mistakes();          // 46 to 50
std::vector<Mistake> head_and_objective_mistakes();    // 51 to 55
std::vector<Mistake> rotation_mistakes();              // 56 to 63
std::vector<Mistake> linear_attention_mistakes();      // 64
std::vector<Mistake> transformer_xl_mistakes();        // 65 to 69
std::vector<Mistake> memory_mistakes();                // 70 and 71
std::vector<Mistake> xlnet_mistakes();                 // 72 to 77
std::vector<Mistake> gradient_mistakes();              // 78 and 79
std::vector<Mistake> tile_and_memory_mistakes();       // 80 to 83
std::vector<Mistake> more_term_mistakes();             // 84 to 87
std::vector<Mistake> rotary_angle_mistakes();          // 88 to 94
std::vector<Mistake> encoder_part_mistakes();          // 95 to 97
std::vector<Mistake> norm_without_mean_mistakes();     // 98
std::vector<Mistake> activation_mistakes();            // 99
std::vector<Mistake> left_out_mistakes();              // 100 to 104
std::vector<Mistake> later_relative_mistakes();        // 105 to 107
std::vector<Mistake> rope_scaling_mistakes();          // 108 and 109
std::vector<Mistake> other_bucket_mistakes();          // 110
std::vector<Mistake> tile_step_mistakes();             // 111
std::vector<Mistake> untied_head_mistakes();           // 112
std::vector<Mistake> adaptive_softmax_mistakes();      // 113
std::vector<Mistake> classifier_mistakes();            // 114
std::vector<Mistake> token_type_mistakes();            // 115
std::vector<Mistake> rotation_step_mistakes();         // 116 to 118
std::vector<Mistake> angle_precision_mistakes();       // 119
std::vector<Mistake> later_index_mistakes();           // 120
std::vector<Mistake> head_cut_mistakes();              // 121
std::vector<Mistake> norm_parameter_mistakes();        // 122
std::vector<Mistake> residual_mistakes();              // 123 and 124
std::vector<Mistake> later_softmax_mistakes();         // 125
std::vector<Mistake> term_count_mistakes();            // 126
std::vector<Mistake> norm_axis_mistakes();             // 127
std::vector<Mistake> query_stream_mistakes();          // 128
std::vector<Mistake> attention_gradient_mistakes();    // 129 to 135
std::vector<Mistake> model_gradient_mistakes();        // 136 to 140
std::vector<Mistake> parameter_gradient_mistakes();    // 141 to 143

}  // namespace locus::conformance
