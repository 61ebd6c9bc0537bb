// The list of pages, in the order of the rail.
#include "viewer/page.h"

namespace locus {

const std::vector<PageName>& page_names() {
    static const std::vector<PageName> names = {
        {"attention", "one head, every term by itself, and why a cell is what it is"},
    };
    return names;
}

std::vector<std::unique_ptr<Page>> make_pages() {
    std::vector<std::unique_ptr<Page>> pages;
    pages.push_back(make_attention_page());
    return pages;
}

}  // namespace locus
