#include "core/models/dialect.h"

namespace locus {

Dialect parse_dialect(const std::string& name) {
    if (name == "official") return Dialect::official;
    if (name == "hf") return Dialect::hf;
    if (name == "paper") return Dialect::paper;
    if (name == "reference") return Dialect::reference;
    throw Error(Fault::usage, "dialect is \"" + name + "\", expected reference, official, hf or paper");
}

const char* to_string(Dialect dialect) {
    switch (dialect) {
        case Dialect::hf:
            return "hf";
        case Dialect::paper:
            return "paper";
        case Dialect::reference:
            return "reference";
        case Dialect::official:
            break;
    }
    return "official";
}

DebertaOptions DebertaOptions::of(Dialect dialect) {
    DebertaOptions options;
    if (dialect == Dialect::paper) options.p2c_index = P2cIndex::paper_ji;
    if (dialect == Dialect::official) options.counted_terms = CountedTerms::named;
    if (dialect == Dialect::hf) {
        options.offset_clamp = OffsetClamp::hf;
        options.masked_row = MaskedRow::uniform;
        options.decoder = MaskDecoder::none;
        options.counted_terms = CountedTerms::listed;
    }
    return options;
}

}  // namespace locus
