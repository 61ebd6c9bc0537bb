#include "core/io/json_file.h"

#include <nlohmann/json.hpp>

#include "core/io/mapped_file.h"
#include "core/io/printable.h"
#include "core/json_text.h"

namespace locus {

nlohmann::json read_json_file(const std::filesystem::path& file) {
    const MappedFile mapped(file);
    return parse_json_object({reinterpret_cast<const char*>(mapped.data()), mapped.size()}, printable(file.string()));
}

}  // namespace locus
