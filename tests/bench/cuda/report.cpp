#include "tests/bench/cuda/report.h"

#include <iostream>

#include "core/io/atomic_file.h"

namespace locus::bench {

using nlohmann::ordered_json;

void Report::save() const {
    if (!file_.empty()) write_atomic_file(file_, all_.dump(1) + "\n");
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
            save();
            std::cerr << row.dump() << std::endl;
        },
        seconds);
}

}  // namespace locus::bench
