#include "core/text/tokenizers/json_pattern.h"

#include "core/text/tokenizers/expression.h"

namespace locus {

Pattern read_pattern(const JsonFields& json) {
    const JsonFields pattern = json.child("pattern");
    if (const auto text = pattern.optional_text("Regex")) return expression(*text, pattern.location());
    const auto text = pattern.optional_text("String");
    if (!text || text->empty()) json.throw_unreadable("pattern", "a Regex or a String that is not empty");
    return each_occurrence(*text);
}

}  // namespace locus
