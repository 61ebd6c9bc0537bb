#include "viewer/pages/page_names.h"

#include <algorithm>

namespace locus {

const std::vector<PageName>& page_names() {
    static const std::vector<PageName> names = {
        {"start", '0', "where to begin: every page as a small live picture, sentences, models, a tour"},
        {"positions", '1', "from the offset of two tokens to a row of the relative table"},
        {"attention", '2', "one head, every term by itself, and why a cell is what it is"},
        {"decoder", '3', "absolute positions enter the query; the words for every [MASK]"},
        {"rope", '4', "queries and keys rotated by their positions, and why only the difference counts", true},
        {"transformer-xl", '5', "a segment that looks back into memory: four terms, and the shift that aligns them",
         true},
        {"permutation", '6', "any order of prediction, two streams, and who sees whom", true},
        {"text", '7', "counting models: words and documents, how alike they are, and how far words must travel", true},
        {"compare", '8', "one stage of two sources, cell by cell: dialects, layers, heads, precisions, dumps of a port",
         true},
        {"conformance", '9',
         "which cases of the kit a port passes, its first wrong stage, and the mistake that explains it", true},
        {"training", 'a', "a small model learns while you watch: terms, curves over distance and guesses take shape",
         true},
    };
    return names;
}

bool has_own_head(const std::string& page) {
    return std::any_of(page_names().begin(), page_names().end(),
                       [&](const PageName& known) { return page == known.name && known.own_head; });
}

}  // namespace locus
