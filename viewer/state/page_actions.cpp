#include "viewer/state/page_actions.h"

namespace locus {

namespace {

/// What the page calls it, what the palette calls it, the key, and the line that it shares on the key sheet.
struct PageKey {
    const char* id;
    const char* title;
    const char* key;
    const char* sheet = "";
};

void add(std::vector<NamedAction>& all, const std::string& page, const std::vector<PageKey>& keys) {
    for (const PageKey& key : keys)
        all.push_back({page + "." + key.id, key.title, page, key.key, "", key.sheet, nullptr});
}

/// Of every page with a film.
void add_film(std::vector<NamedAction>& all, const std::string& page) {
    add(all, page,
        {{"play", "play or stop the film", "p", "film: play, on, back, speed"},
         {"frame.more", "next frame of the film", "n", "film: play, on, back, speed"},
         {"frame.less", "previous frame of the film", "N", "film: play, on, back, speed"},
         {"speed", "next speed of the film", "v", "film: play, on, back, speed"}});
}

/// Of every page whose column takes a cell apart.
void add_cell_column(std::vector<NamedAction>& all, const std::string& page) {
    add(all, page,
        {{"column", "words, terms or products in the column", "w", "column; next term; copy the cell"},
         {"term", "next term in the column", "Tab", "column; next term; copy the cell"},
         {"copy", "copy the cell as text", "c", "column; next term; copy the cell"},
         {"channels.more", "channels further down", "j", "channels down, up"},
         {"channels.less", "channels further up", "k", "channels down, up"}});
}

void add_encoder_pages(std::vector<NamedAction>& all) {
    add(all, "start", {{"tour", "start the tour", "Enter"}});
    add(all, "positions", {{"kind", "clamp or log buckets", "x"}});
    const char* drop = "with or without c2c, c2p, p2c";
    add(all, "attention",
        {{"term", "next term in the microscope", "Tab"},
         {"picture", "one head, all heads, any stage", "v", "head, all heads, stage; back to the head"},
         {"head", "back to one head", "Enter", "head, all heads, stage; back to the head"},
         {"c2c", "with or without content to content", "q", drop},
         {"c2p", "with or without content to position", "w", drop},
         {"p2c", "with or without position to content", "e", drop},
         {"scale", "scale follows the terms or stays", "r"},
         {"transpose", "exchange rows and columns", "x", "rows and columns; strength or share"},
         {"curve", "strength or share by distance", "s", "rows and columns; strength or share"},
         {"table", "table of channels", "p", "table of channels; copy as text"},
         {"copy", "copy the microscope as text", "c", "table of channels; copy as text"},
         {"mask", "mask the query, and back", "m", "mask the query; stage after, before"},
         {"stage.more", "stage after", "n", "mask the query; stage after, before"},
         {"stage.less", "stage before", "N", "mask the query; stage after, before"}});
    all.push_back({"attention.transpose.also", "exchange rows and columns, by T", "attention", "T", "", "", nullptr});
    all.push_back({"attention.copy.also", "copy the microscope, by Ctrl C", "attention", "Ctrl C", "", "", nullptr});
    add(all, "decoder",
        {{"weaker", "weaker absolute positions", "i", "strength of I down, up"},
         {"stronger", "stronger absolute positions", "I", "strength of I down, up"},
         {"side", "words, or a cell of a pass", "e", "words, cell of a pass; copy the cell"},
         {"copy", "copy the cell as text", "c", "words, cell of a pass; copy the cell"}});
    add_film(all, "decoder");
}

void add_family_pages(std::vector<NamedAction>& all) {
    add(all, "rope",
        {{"query.less", "query one position back", "\u2190", "position of the query"},
         {"query.more", "query one position on", "\u2192", "position of the query"},
         {"key.more", "key one position on", "\u2191", "position of the key"},
         {"key.less", "key one position back", "\u2193", "position of the key"},
         {"shown", "walk, scores, probabilities, linear", "w", "walk, scores, probabilities, linear; copy"},
         {"copy", "copy the cell as text", "c", "walk, scores, probabilities, linear; copy"},
         {"shift.more", "shift both on", "s", "shift both forth, back"},
         {"shift.less", "shift both back", "S", "shift both forth, back"},
         {"layout", "interleaved or half-split", "x"},
         {"base", "next base", "b", "next base, next scaling"},
         {"scaling", "next scaling", "y", "next base, next scaling"}});
    add_film(all, "rope");
    add(all, "transformer-xl",
        {{"memory.less", "shorter memory", "m", "memory shorter, longer"},
         {"memory.more", "longer memory", "M", "memory shorter, longer"},
         {"segment.more", "segment after", "s", "segment after, before"},
         {"segment.less", "segment before", "S", "segment after, before"},
         {"trick", "the other shift", "x", "other shift; how far back"},
         {"strip", "the film, or how far back every layer knows", "e", "other shift; how far back"}});
    add_film(all, "transformer-xl");
    add_cell_column(all, "transformer-xl");
    add(all, "permutation",
        {{"card.less", "card before", "\u2190", "choose a card"},
         {"card.more", "card after", "\u2192", "choose a card"},
         {"card.earlier", "move the card forward", "Shift \u2190", "move the card"},
         {"card.later", "move the card back", "Shift \u2192", "move the card"},
         {"predict", "predict the card, or give it", "Enter"},
         {"row.less", "explain the row above", "\u2191", "row that is explained"},
         {"row.more", "explain the row below", "\u2193", "row that is explained"},
         {"order", "next order", "o", "next order; reversed; next sentence"},
         {"reverse", "order the other way round", "r", "next order; reversed; next sentence"},
         {"sentence", "next sentence", "x", "next order; reversed; next sentence"},
         {"segments", "with or without the segment term", "g"}});
    add_cell_column(all, "permutation");
}

void add_other_pages(std::vector<NamedAction>& all) {
    add(all, "text",
        {{"weights", "counts or tf\u00b7idf", "x", "counts or tf\u00b7idf; stop words or not"},
         {"stop", "with or without stop words", "w", "counts or tf\u00b7idf; stop words or not"},
         {"documents.left", "compare with the document to the left", "\u2190", "other documents are compared"},
         {"documents.up", "compare with the document above", "\u2191", "other documents are compared"},
         {"documents.down", "compare with the document below", "\u2193", "other documents are compared"},
         {"documents.right", "compare with the document to the right", "\u2192", "other documents are compared"},
         {"word.less", "word before", ",", "word before, after"},
         {"word.more", "word after", ".", "word before, after"},
         {"topics.less", "fewer topics", "[", "fewer, more topics"},
         {"topics.more", "more topics", "]", "fewer, more topics"}});
    add(all, "compare",
        {{"worst", "next worst cell", "n", "next worst cell"},
         {"worst.also", "next worst cell, by N", "N", "next worst cell"},
         {"stage.more", "stage after", "s", "stage after, before"},
         {"stage.less", "stage before", "S", "stage after, before"},
         {"case.more", "next case of the report", "c", "case of the report after, before"},
         {"case.less", "previous case of the report", "C", "case of the report after, before"},
         {"dialect", "next dialect of B", "d"},
         {"zoo", "bug zoo", "z"}});
    add(all, "conformance",
        {{"failing.more", "next case that fails", "n", "next case that fails, the one before"},
         {"failing.less", "case that fails before", "N", "next case that fails, the one before"},
         {"case.more", "case after", "c", "case after, before"},
         {"case.less", "case before", "C", "case after, before"},
         {"stage.more", "stage after", "s", "stage after, before"},
         {"stage.less", "stage before", "S", "stage after, before"},
         {"mistake.more", "mistake after", "m", "mistake after, before"},
         {"mistake.less", "mistake before", "M", "mistake after, before"},
         {"failing", "only what fails", "o", "only what fails; check again"},
         {"again", "check again", "r", "only what fails; check again"},
         {"numbers", "its numbers in Compare", "Enter"}});
    add(all, "training",
        {{"train", "train, or stop", "Enter"},
         {"sentence", "next sentence", "x", "next sentence; hide the query, and back"},
         {"mask", "hide the word of the query, or bring it back", "m", "next sentence; hide the query, and back"},
         {"scale", "one scale for all snapshots, or each its own", "r"}});
    add_film(all, "training");
}

}  // namespace

void add_page_actions(std::vector<NamedAction>& all) {
    add_encoder_pages(all);
    add_family_pages(all);
    add_other_pages(all);
}

}  // namespace locus
