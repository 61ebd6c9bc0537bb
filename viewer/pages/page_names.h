#pragma once
// The pages by name, in the order of the rail, without a window.
#include <string>
#include <vector>

namespace locus {

struct PageName {
    const char* name;  // as in --page
    char key;
    const char* about;
    bool own_head = false;  // it has a layer and a head of its own
};
const std::vector<PageName>& page_names();

/// True if the layer, the head and the dialect that other pages share are not on this page; Permutation has the
/// dialect.
bool has_own_head(const std::string& page);

}  // namespace locus
