#pragma once
// Sentences worth a look: those of the source documents, and those that the bundled models know.

namespace locus {

inline constexpr const char* kSentencePresets[] = {
    "a new [MASK] opened beside the new [MASK].",
    "a new store opened beside the new mall.",
    "deep learning",
    "the capital of france is [MASK].",
    "\ubc1c \uc5c6\ub294 \ub9d0\uc774 \ucc9c\ub9ac \uac04\ub2e4.",
};

}  // namespace locus
