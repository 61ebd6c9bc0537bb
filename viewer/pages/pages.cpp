// The list of pages, in the order of the rail.
#include <algorithm>

#include "viewer/page.h"
#include "viewer/plots/number_format.h"

namespace locus {

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
    pages.push_back(make_training_page());
    return pages;
}

std::string size_line(Index layers, Index heads) {
    return several(layers, "layer") + " \u00d7 " + several(heads, "head") + " \u00b7 f32";
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
