#pragma once
// A few hundred sentences of a small grammar, so that the words of a short text have neighbours to learn vectors from.
// Used by `locus text wmd` without --vectors and by the viewer's Text page.
#include <vector>

#include "core/cancel.h"
#include "core/text/statistics/word_vectors.h"

namespace locus {

/// Sentences in lower case without stop words: politics, music, cars, friends.  The same ones every time.
std::vector<Document> small_corpus();

/// A vector of length 1 for every word of the documents and of small_corpus, learned from their neighbours in both
/// (skip-gram).  The longer the documents, the fewer epochs: about 300,000 pairs of neighbours in all, a fraction of a
/// second.  The same documents give the same vectors.  `stop` as train_skip_gram has it.
WordVectors learn_word_vectors(const std::vector<Document>& documents, const CancelToken& stop = {});

}  // namespace locus
