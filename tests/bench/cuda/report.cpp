#include "tests/bench/cuda/report.h"

#include <iostream>

#include "core/io/atomic_file.h"

namespace locus::bench {

using nlohmann::ordered_json;

void Report::save() const {
    // What other programs print is not always UTF-8.
    if (!file_.empty())
        write_atomic_file(file_, all_.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

void Report::erase(const std::string& pointer) {
    const ordered_json::json_pointer place(pointer);
    ordered_json& parent = all_[place.parent_pointer()];
    if (parent.is_object()) parent.erase(place.back());
}

void Report::set(const std::string& pointer, const ordered_json& value) {
    const std::lock_guard alone(guard_);
    all_[ordered_json::json_pointer(pointer)] = value;
    save();
}

Rows Report::rows(const std::string& pointer, double seconds) {
    set(pointer, ordered_json::array());
    return Rows(
        [this, pointer](const ordered_json& row) {
            const std::lock_guard alone(guard_);
            all_[ordered_json::json_pointer(pointer)].push_back(row);
            erase(pointer + "_so_far");
            save();
            std::cerr << row.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << std::endl;
        },
        [this, pointer](const ordered_json& row) { set(pointer + "_so_far", row); }, seconds);
}

}  // namespace locus::bench
