#include "tests/bench/cuda/cubin.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <regex>

#include "core/check.h"
#include "core/io/input_file.h"

namespace locus::bench {

namespace {

/// Bytes that are looked at, never beyond their end.
struct Bytes {
    const char* first;
    std::size_t size, place;  // in the file
    const std::string& file;

    template <class Value>
    Value at(std::size_t offset) const {
        Value value;
        check(offset, sizeof(Value));
        std::memcpy(&value, first + offset, sizeof(Value));
        return value;
    }
    Bytes part(std::size_t offset, std::size_t length) const {
        check(offset, length);
        return {first + offset, length, place + offset, file};
    }
    std::string text(std::size_t offset) const {
        check(offset, 1);
        return {first + offset, std::find(first + offset, first + size, '\0')};
    }
    bool starts_with(std::string_view word) const {
        return std::string_view(first, std::min(size, word.size())) == word;
    }

private:
    void check(std::size_t offset, std::size_t length) const {
        if (offset > size || length > size - offset)
            throw Error(Fault::unreadable, file + ": its device code is cut short, expected " + std::to_string(length) +
                                               " bytes at " + std::to_string(place + offset));
    }
};

struct Section {
    std::string name;
    Bytes bytes;
    std::uint32_t link;
};

std::vector<Section> sections_of(const Bytes& elf) {
    const auto header = elf.at<Elf64_Ehdr>(0);
    const auto table = [&](std::size_t n) { return elf.at<Elf64_Shdr>(header.e_shoff + n * sizeof(Elf64_Shdr)); };
    const Elf64_Shdr names = table(header.e_shstrndx);
    std::vector<Section> sections;
    for (std::size_t n = 0; n < header.e_shnum; ++n) {
        const Elf64_Shdr one = table(n);
        const bool stored = one.sh_type != SHT_NOBITS;
        sections.push_back({elf.text(names.sh_offset + one.sh_name),
                            elf.part(stored ? one.sh_offset : 0, stored ? one.sh_size : 0), one.sh_link});
    }
    return sections;
}

/// "void locus::cuda::fused_forward_kernel<locus::cuda::Half, 64, 128, 64>(...)" without what is the same in all.
std::string short_name(const std::string& symbol) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> whole(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                       std::free);
    std::string name = status == 0 ? whole.get() : symbol;
    name = std::regex_replace(name, std::regex(R"(locus::cuda::|\(anonymous namespace\)::|^void )"), "");
    return name.substr(0, name.find('('));
}

void add_kernels(const Bytes& elf, const std::string& architecture, std::vector<KernelResources>& all) {
    constexpr std::uint8_t kTwoWords = 4, kFrameSize = 0x11, kRegisters = 0x2f;
    const std::vector<Section> sections = sections_of(elf);
    std::map<std::uint32_t, KernelResources> kernels;  // by symbol
    for (const Section& section : sections) {
        if (section.name != ".nv.info") continue;
        const Bytes &symbols = sections.at(section.link).bytes,
                    &names = sections.at(sections.at(section.link).link).bytes;
        std::map<std::uint32_t, int> frames;
        for (std::size_t at = 0; at + 4 <= section.bytes.size;) {
            const auto format = section.bytes.at<std::uint8_t>(at), what = section.bytes.at<std::uint8_t>(at + 1);
            const auto size = section.bytes.at<std::uint16_t>(at + 2);
            if (format == kTwoWords && (what == kFrameSize || what == kRegisters)) {
                const auto symbol = section.bytes.at<std::uint32_t>(at + 4),
                           value = section.bytes.at<std::uint32_t>(at + 8);
                if (what == kFrameSize) {
                    frames[symbol] = static_cast<int>(value);
                } else {
                    const auto entry = symbols.at<Elf64_Sym>(symbol * sizeof(Elf64_Sym));
                    kernels[symbol] = {short_name(names.text(entry.st_name)), architecture, static_cast<int>(value), 0};
                }
            }
            at += 4 + (format == kTwoWords ? size : 0u);
        }
        for (auto& [symbol, kernel] : kernels) kernel.stack_bytes = frames[symbol];
    }
    for (const auto& [symbol, kernel] : kernels) all.push_back(kernel);
}

/// A fat binary: a header of 16 bytes, then parts with headers of their own: machine code (2) or PTX (1).
std::size_t read_fat_binary(const Bytes& bytes, std::vector<KernelResources>& all) {
    const auto header = bytes.at<std::uint16_t>(6);
    const auto size = static_cast<std::size_t>(bytes.at<std::uint64_t>(8));
    const Bytes body = bytes.part(header, size);
    for (std::size_t at = 0; at + 64 <= size;) {
        const auto kind = body.at<std::uint16_t>(at);
        const auto before = body.at<std::uint32_t>(at + 4), architecture = body.at<std::uint32_t>(at + 28);
        const auto length = static_cast<std::size_t>(body.at<std::uint64_t>(at + 8));
        const Bytes part = body.part(at + before, length);
        if (kind == 2 && part.starts_with(ELFMAG)) add_kernels(part, "sm_" + std::to_string(architecture), all);
        at += before + length;
    }
    return header + size;
}

}  // namespace

std::vector<KernelResources> kernel_resources(const std::filesystem::path& program) {
    const MappedFile mapped(program);
    const std::string file = program.string();
    const Bytes elf{reinterpret_cast<const char*>(mapped.data()), mapped.size(), 0, file};
    if (!elf.starts_with(ELFMAG)) throw Error(Fault::unreadable, file + ": is no ELF file");
    std::vector<KernelResources> found;
    for (const Section& section : sections_of(elf)) {
        if (section.name != ".nv_fatbin") continue;
        for (std::size_t at = 0; at + 16 <= section.bytes.size;) {
            if (section.bytes.at<std::uint32_t>(at) == 0xba55ed50u)
                at += read_fat_binary(section.bytes.part(at, section.bytes.size - at), found);
            else
                at += 8;  // parts start at multiples of 8
        }
    }
    std::sort(found.begin(), found.end(), [](const KernelResources& a, const KernelResources& b) {
        return std::tie(a.kernel, a.architecture) < std::tie(b.kernel, b.architecture);
    });
    return found;
}

}  // namespace locus::bench
