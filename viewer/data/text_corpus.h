#pragma once
// A few hundred sentences of a small grammar, so that words have neighbours to learn their vectors from.
#include <vector>

#include "core/text/statistics/words.h"

namespace locus {

/// Sentences in lower case without stop words: politics, music, cars, friends.  The same ones every time.
std::vector<Document> small_corpus();

}  // namespace locus
