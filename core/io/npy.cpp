#include "core/io/npy.h"

#include <charconv>
#include <regex>

#include "core/io/stage_bytes.h"
#include "core/io/unreadable.h"

namespace locus {

namespace {

namespace fs = std::filesystem;

/// "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" and where the values begin.
struct Header {
    std::string text;
    std::size_t data = 0;
};

Header header_of(const MappedFile& file) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
    if (file.size() < 10 || std::string_view(reinterpret_cast<const char*>(bytes), 6) != "\x93NUMPY")
        throw_unreadable(file.path(), "is no NumPy array, expected a file that begins with \\x93NUMPY");
    const unsigned version = bytes[6];
    if (version < 1 || version > 3)
        throw_unreadable(file.path(), "is a NumPy array of version " + std::to_string(version) + ", expected 1, 2 or 3",
                         Fault::unsupported);
    std::size_t length = bytes[8] | std::size_t{bytes[9]} << 8, begin = 10;
    if (version > 1) {
        if (file.size() < 12) throw_unreadable(file.path(), "is cut short in its header");
        length |= std::size_t{bytes[10]} << 16 | std::size_t{bytes[11]} << 24;
        begin = 12;
    }
    if (length > file.size() - begin) throw_unreadable(file.path(), "is cut short in its header");
    return {std::string(reinterpret_cast<const char*>(bytes) + begin, length), begin + length};
}

std::string matched(const fs::path& file, const std::string& text, const char* pattern, const char* what) {
    std::smatch match;
    if (text.size() > 10000 || !std::regex_search(text, match, std::regex(pattern)))
        throw_unreadable(file, std::string("has a header without ") + what);
    return match[1];
}

Shape shape_of(const fs::path& file, const std::string& text) {
    Shape shape;
    static const std::regex number("[0-9]+");
    for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at) {
        const std::string digits = at->str();
        Index extent = 0;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), extent);
        if (read.ec != std::errc{}) throw_unreadable(file, "has the size " + digits + ", larger than any file");
        shape.push_back(extent);
    }
    return shape;
}

/// "<f4" -> F32; refuses what cannot be compared.
Dtype dtype_of(const fs::path& file, const std::string& descr) {
    if (descr.starts_with('>'))
        throw_unreadable(file,
                         "holds big-endian values (" + descr + "), expected little-endian ones: array.astype(\"<" +
                             descr.substr(1) + "\")",
                         Fault::unsupported);
    const std::string type = descr.empty() ? "" : descr.substr(1);
    for (const auto& [name, dtype] : {std::pair{"f8", Dtype::f64},
                                      {"f4", Dtype::f32},
                                      {"f2", Dtype::f16},
                                      {"i8", Dtype::i64},
                                      {"i4", Dtype::i32},
                                      {"i2", Dtype::i16},
                                      {"i1", Dtype::i8},
                                      {"u1", Dtype::u8},
                                      {"b1", Dtype::boolean}})
        if (type == name) return dtype;
    throw_unreadable(file, "holds values of type " + descr + ", expected <f8, <f4, <f2 or whole numbers",
                     Fault::unsupported);
}

}  // namespace

Stage read_npy(const fs::path& path, std::string& stored) {
    const MappedFile file(path);
    const Header header = header_of(file);
    const std::string descr = matched(path, header.text, "'descr': *'([^']*)'", "descr");
    const Dtype dtype = dtype_of(path, descr);
    const Shape shape = shape_of(path, matched(path, header.text, "'shape': *\\(([0-9, L]*)\\)", "shape"));
    if (matched(path, header.text, "'fortran_order': *(True|False)", "fortran_order") == "True" && shape.size() > 1)
        throw_unreadable(path, "is stored in Fortran order, expected C order: numpy.ascontiguousarray(array)",
                         Fault::unsupported);
    stored = to_string(dtype);
    return stage_of_bytes(path.string(), dtype, shape,
                          {reinterpret_cast<const char*>(file.data()) + header.data, file.size() - header.data});
}

std::string npy_of(const Stage& stage) {
    const std::string dtype = stage.dtype();
    std::string shape;
    for (const Index extent : stage.shape()) shape += std::to_string(extent) + ", ";
    if (stage.shape().size() > 1) shape.erase(shape.size() - 2);  // (3, 4) but (3,)
    if (stage.shape().size() == 1) shape.pop_back();
    std::string header = std::string("{'descr': '") +
                         (dtype == "F32"   ? "<f4"
                          : dtype == "F64" ? "<f8"
                                           : "<i8") +
                         "', 'fortran_order': False, 'shape': (" + shape + "), }";
    constexpr std::size_t kBefore = 10, kStep = 64;  // values begin on a multiple of 64 bytes
    header.append(kStep - 1 - (kBefore + header.size()) % kStep, ' ');
    header += '\n';
    std::string bytes = "\x93NUMPY";
    bytes += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    bytes += header;
    std::visit(
        [&](const auto& tensor) {
            bytes.append(reinterpret_cast<const char*>(tensor.data()),
                         static_cast<std::size_t>(tensor.size()) * sizeof tensor[0]);
        },
        stage.values);
    return bytes;
}

}  // namespace locus
