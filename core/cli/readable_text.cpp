#include "core/cli/program.h"
#include "core/text/tokenizers/unicode.h"

namespace locus::cli {

std::string readable_text(const CLI::App& app, const std::string& text) {
    RepairedText repaired = repair_utf8(text);
    if (repaired.replaced > 0)
        say(app, "warning: the text is not UTF-8: " + std::to_string(repaired.replaced) +
                     (repaired.replaced == 1 ? " place" : " places") + " replaced by U+FFFD");
    return repaired.text;
}

}  // namespace locus::cli
