#pragma once
// The post-processor of tokenizer.json: what stands around a single text.
// Source: huggingface/tokenizers src/processors.
#include <string>
#include <vector>

#include "core/text/tokenizers/json_fields.h"
#include "core/text/tokenizers/special_tokens.h"

namespace locus {

struct JsonFrame {
    std::vector<SpecialToken> front, behind;
};

/// Reads Sequence, TemplateProcessing, BertProcessing, RobertaProcessing and ByteLevel (which adds nothing).
/// Throws Error(unsupported) that names any other type, Error(unreadable) for damaged fields.
JsonFrame read_processor(const JsonFields& json);

}  // namespace locus
