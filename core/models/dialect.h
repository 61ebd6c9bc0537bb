#pragma once
// Where paper, official code and Hugging Face differ, as one choice.
#include <string>

#include "core/attention/disentangled.h"
#include "core/attention/softmax.h"
#include "core/positions/relative_buckets.h"

namespace locus {

enum class Dialect {
    official,   // the authors' code: microsoft/DeBERTa at 4d7fe0b, transformer-xl, xlnet
    hf,         // transformers 4.57.6
    paper,      // the equations as printed
    reference,  // the official formulas without the mistakes of any code: the default of Locus
};

/// "reference", "official", "hf" or "paper".  Throws Error(usage) otherwise.
Dialect parse_dialect(const std::string& name);
const char* to_string(Dialect dialect);

/// How masked words are predicted from the encoder.
enum class MaskDecoder {
    none,      // the head reads the last layer (Hugging Face)
    official,  // two passes of the last layer, query = absolute positions + h, residual is the query
    pre_norm,  // qcqced123/model_study: two pre-norm passes, residual is h
};

/// What n of the scale 1/sqrt(n d) counts beside c2c.
enum class CountedTerms {
    active,  // the terms that are added
    named,   // those that pos_att_type names, also without relative_attention (disentangled_attention.py)
    listed,  // the same, and in version 1 every entry of pos_att_type, duplicates too (modeling_deberta.py)
};

/// Every switch a dialect sets for DeBERTa; each can also be set alone.
struct DebertaOptions {
    P2cIndex p2c_index = P2cIndex::official_ij;
    OffsetClamp offset_clamp = OffsetClamp::official;
    MaskedRow masked_row = MaskedRow::zero;
    MaskDecoder decoder = MaskDecoder::official;  // runs only where the checkpoint can (see Deberta::has_decoder)
    CountedTerms counted_terms = CountedTerms::active;
    double absolute_strength = 1;  // factor on I in the decoder's query, for experiments; 1 is the model

    static DebertaOptions of(Dialect dialect);
};

/// Which code computes a pass.  Not a dialect: both give the same numbers, up to the rounding that core/compare.h
/// derives.
enum class ForwardPath {
    reference,  // the readable formulas of core/attention, stage by stage
    fast,       // core/models/fast_encoder.h where nobody looks inside a layer, the reference everywhere else
};

}  // namespace locus
