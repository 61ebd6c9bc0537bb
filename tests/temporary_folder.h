#pragma once
// A folder that goes away, whatever happens in between.
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

#include "core/check.h"

namespace locus::test {

namespace fs = std::filesystem;

/// A new, empty folder, removed with what it holds when this goes out of scope.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (fs::temp_directory_path() / "locus-test-XXXXXX").string();
        if (!::mkdtemp(name.data())) throw Error(Fault::unreadable, name + ": no folder can be made here");
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code error;
        fs::remove_all(path_, error);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const fs::path& path() const { return path_; }
    fs::path operator/(const std::string& name) const { return path_ / name; }
    std::size_t count() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
    }

private:
    fs::path path_;
};

}  // namespace locus::test
