#pragma once
// The Text page: two sentences that mean the same and share no word, and four others around them.
#include <string>

#include "viewer/plots/matrix_view.h"

namespace locus {

struct TextPageState {
    std::string documents =  // one per line
        "Obama speaks to the media in Illinois\n"
        "The President greets the press in Chicago\n"
        "The band gave a concert in Japan\n"
        "The media review a new car\n"
        "a new car, used car, car review\n"
        "a friend in need is a friend indeed";
    std::size_t weights = 0;  // 0 counts, 1 tf-idf
    bool stop_words = false;  // counted like any other word
    Index topics = 2;         // of the latent semantics
    Cell weight{4, 14};       // document and word
    Cell pair{0, 1};          // two documents
    Cell move{0, 0};          // a word of the first, a word of the second
    MatrixView view;          // onto the matrix of documents and words
    bool locked = true;
};

}  // namespace locus
