#pragma once
// Words as vectors, and the text files they come in: word2vec's (a first line "count width") and GloVe's (none).
#include <istream>
#include <string>

#include "core/text/statistics/words.h"

namespace locus {

struct WordVectors {
    WordList words;
    Matrix<double> vectors;  // [words, width]
};

/// Reads the vectors of the words that are `wanted`, and keeps nothing else of a file that may be larger than memory;
/// stops as soon as it has them all.  A word that stands there twice has its first vector.  A word may hold spaces, as
/// some of GloVe's do.  `location` names the file in messages.
/// Throws Error(unreadable) that names the line where a line is not a word and as many numbers as the first, a number
/// is not finite, or the first line promised another number of vectors; Error(unsupported) for compressed and binary
/// files.
WordVectors read_word_vectors(std::istream& stream, const std::string& location, const WordList& wanted);

}  // namespace locus
