#pragma once
// A folder that goes away, whatever happens in between.
#include <filesystem>
#include <iterator>

#include "core/io/atomic_file.h"

namespace locus::test {

namespace fs = std::filesystem;

/// A new, empty folder, removed with what it holds when this goes out of scope.
class TemporaryFolder : public ScratchFolder {
public:
    TemporaryFolder() : ScratchFolder("test") {}
    std::size_t count() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(path()), fs::directory_iterator()));
    }
};

}  // namespace locus::test
