// The list of pages, in the order of the rail.
#include "viewer/page.h"

namespace locus {

const std::vector<PageName>& page_names() {
    static const std::vector<PageName> names = {
        {"positions", "from the offset of two tokens to a row of the relative table"},
        {"attention", "one head, every term by itself, and why a cell is what it is"},
        {"decoder", "absolute positions enter the query; the words behind every [MASK]"},
    };
    return names;
}

std::vector<std::unique_ptr<Page>> make_pages() {
    std::vector<std::unique_ptr<Page>> pages;
    pages.push_back(make_positions_page());
    pages.push_back(make_attention_page());
    pages.push_back(make_decoder_page());
    return pages;
}

}  // namespace locus
