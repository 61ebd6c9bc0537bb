// The list of pages, in the order of the rail.
#include <algorithm>

#include "viewer/page.h"

namespace locus {

const std::vector<PageName>& page_names() {
    static const std::vector<PageName> names = {
        {"start", '0', "where to begin: every page as a small live picture, sentences, models, a tour"},
        {"positions", '1', "from the offset of two tokens to a row of the relative table"},
        {"attention", '2', "one head, every term by itself, and why a cell is what it is"},
        {"decoder", '3', "absolute positions enter the query; the words behind every [MASK]"},
        {"rope", '4', "queries and keys turned by their positions, and why only the difference counts", true},
        {"transformer-xl", '5', "a segment that looks back into memory: four terms, and the shift that places them",
         true},
        {"permutation", '6', "any order of prediction, two streams, and who sees whom", true},
        {"text", '7', "counting models: words and documents, how alike they are, and how far words must travel", true},
        {"compare", '8', "one stage of two sources, cell by cell: dialects, layers, heads, precisions, dumps of a port",
         true},
        {"conformance", '9', "which cases of the kit a port passes, its first wrong stage, and the mistake behind it", true},
    };
    return names;
}

std::vector<std::unique_ptr<Page>> make_pages() {
    std::vector<std::unique_ptr<Page>> pages;
    pages.push_back(make_start_page());
    pages.push_back(make_positions_page());
    pages.push_back(make_attention_page());
    pages.push_back(make_decoder_page());
    pages.push_back(make_rope_page());
    pages.push_back(make_transformer_xl_page());
    pages.push_back(make_permutation_page());
    pages.push_back(make_text_page());
    pages.push_back(make_compare_page());
    pages.push_back(make_conformance_page());
    return pages;
}

bool has_own_head(const std::string& page) {
    return std::any_of(page_names().begin(), page_names().end(),
                       [&](const PageName& known) { return page == known.name && known.own_head; });
}

std::string size_line(Index layers, Index heads) {
    return std::to_string(layers) + " layers \u00d7 " + std::to_string(heads) + " heads \u00b7 f32";
}

ModelCard Page::card(const Scene& scene) {
    const DebertaConfig& config = scene.session.config();
    return {scene.session.name(), size_line(config.num_hidden_layers, config.num_attention_heads)};
}

bool step_head(const KeyPress& press, Index layers, Index heads, Index& layer, Index& head) {
    if (press.key != Key::character) return false;
    const auto step = [](Index& value, Index by, Index count) {
        value = std::clamp<Index>(value + by, 0, count - 1);
        return true;
    };
    switch (press.character) {
        case '[':
            return step(layer, -1, layers);
        case ']':
            return step(layer, 1, layers);
        case ',':
            return step(head, -1, heads);
        case '.':
            return step(head, 1, heads);
        default:
            return false;
    }
}

}  // namespace locus
