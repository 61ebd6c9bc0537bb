#include "core/text/corpus/text_file.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/check.h"
#include "core/file_presence.h"
#include "core/json_text.h"

namespace locus {

namespace {

constexpr std::size_t kMostText = std::size_t{1} << 30;

}  // namespace

std::string read_all(std::istream& stream, const std::string& name) {
    std::string bytes;
    std::vector<char> piece(std::size_t{1} << 16);
    while (stream.read(piece.data(), std::ssize(piece)) || stream.gcount() > 0) {
        bytes.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
        if (bytes.size() > kMostText)
            throw Error(Fault::unsupported, name + ": is larger than 1 GiB, the most that is read at once");
    }
    if (stream.bad()) throw Error(Fault::unreadable, name + ": cannot be read to its end");
    return bytes;
}

std::string read_text_file(const std::filesystem::path& file) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file, error);  // fails for a pipe
    if (!error && size > kMostText)
        throw Error(Fault::unsupported, file.string() + ": is larger than 1 GiB, the most that is read at once");
    if (std::filesystem::is_directory(file, error))
        throw Error(Fault::unreadable, file.string() + ": is a folder, expected a file");
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
        const std::string reason = errno != 0 ? ": " + std::generic_category().message(errno) : ", expected a file";
        throw Error(Fault::unreadable, file.string() + ": cannot be opened" + reason);
    }
    return read_all(stream, file.string());
}

std::string read_model_file(const std::filesystem::path& file) {
    std::error_code error;
    if (leads_nowhere(file)) throw Error(Fault::unreadable, file.string() + kLeadsNowhere);
    if (is_present(file) && !std::filesystem::is_regular_file(file, error))
        throw Error(Fault::unreadable, file.string() + ": cannot be read, expected a regular file");
    return read_text_file(file);
}

void check_not_utf16(std::string_view bytes, const std::string& name) {
    if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"))
        throw Error(Fault::unreadable, name + ": is UTF-16, expected UTF-8");
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t from = text.starts_with("\xef\xbb\xbf") ? 3 : 0; from < text.size();) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        lines.push_back(text.substr(from, end - from));
        if (lines.back().ends_with('\r')) lines.back().pop_back();
        from = end + 1;
    }
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
}

nlohmann::json read_optional_json(const std::filesystem::path& file) {
    if (!is_present(file)) return nlohmann::json::object();
    return parse_json_object(read_model_file(file), file.string());
}

}  // namespace locus
