#include "core/io/scratch_folder.h"

#include <cstdlib>

#include "core/check.h"

namespace locus {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(const std::string& program) {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / ("locus-" + program + "-XXXXXX")).string();
    if (error || !::mkdtemp(name.data()))
        throw Error(Fault::unreadable, name + ": no folder can be made there, expected room for temporary files");
    path_ = name;
}

ScratchFolder::~ScratchFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
}

}  // namespace locus
