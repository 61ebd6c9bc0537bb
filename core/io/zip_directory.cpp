// APPNOTE.TXT 4.3 (.ZIP file format), including the 64-bit extension that torch uses beyond 4 GiB.
#include "core/io/zip_directory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/check.h"
#include "core/io/input_file.h"

namespace locus {

namespace {

constexpr std::size_t kEndSize = 22, kEnd64LocatorSize = 20, kEnd64Size = 56, kCentralSize = 46, kLocalSize = 30;
constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kEnd64Locator = 0x07064b50;

/// Little-endian numbers at checked places.
class Bytes {
public:
    explicit Bytes(const MappedFile& file) : file_(file) {}

    [[noreturn]] void throw_unreadable(const std::string& what) const {
        throw Error(Fault::unreadable, file_.path().string() + ": " + printable(what));
    }
    void need(std::uint64_t at, std::uint64_t count) const {
        if (at > file_.size() || count > file_.size() - at)
            throw_unreadable("the zip archive is cut short: " + std::to_string(count) + " bytes at " +
                             std::to_string(at) + " lie beyond its " + std::to_string(file_.size()));
    }
    template <class Value>
    Value number(std::uint64_t at) const {
        need(at, sizeof(Value));
        Value value;
        std::memcpy(&value, file_.data() + at, sizeof value);
        return value;
    }
    std::string text(std::uint64_t at, std::uint64_t count) const {
        need(at, count);
        return {reinterpret_cast<const char*>(file_.data()) + at, static_cast<std::size_t>(count)};
    }
    std::uint64_t size() const { return file_.size(); }

private:
    const MappedFile& file_;
};

struct Directory {
    std::uint64_t offset = 0, count = 0, size = 0;
};

Directory find_directory(const Bytes& bytes) {
    // The end record stands before a comment of at most 65535 bytes.
    const std::uint64_t size = bytes.size();
    const std::uint64_t earliest = size > kEndSize + 65535 ? size - kEndSize - 65535 : 0;
    for (std::uint64_t at = size < kEndSize ? 0 : size - kEndSize + 1; at-- > earliest;) {
        if (bytes.number<std::uint32_t>(at) != kEnd) continue;
        Directory directory{bytes.number<std::uint32_t>(at + 16), bytes.number<std::uint16_t>(at + 10),
                            bytes.number<std::uint32_t>(at + 12)};
        if (directory.offset != 0xffffffff && directory.count != 0xffff) return directory;
        if (at < kEnd64LocatorSize || bytes.number<std::uint32_t>(at - kEnd64LocatorSize) != kEnd64Locator)
            return directory;
        const auto end64 = bytes.number<std::uint64_t>(at - kEnd64LocatorSize + 8);
        bytes.need(end64, kEnd64Size);
        if (bytes.number<std::uint32_t>(end64) != kEnd64)
            bytes.throw_unreadable("the zip archive has a damaged 64-bit end record");
        return {bytes.number<std::uint64_t>(end64 + 48), bytes.number<std::uint64_t>(end64 + 32),
                bytes.number<std::uint64_t>(end64 + 40)};
    }
    bytes.throw_unreadable("the zip archive is cut short: it has no directory at its end");
}

struct CentralRecord {
    std::string name;
    std::uint64_t packed = 0, size = 0, local = 0, next = 0;
    std::uint16_t method = 0, flags = 0;
};

/// Replaces the 32-bit fields that say 0xffffffff by those of the 64-bit extra field, in its fixed order.
void widen(const Bytes& bytes, std::uint64_t at, std::uint64_t end, CentralRecord& record) {
    while (at + 4 <= end) {
        const auto id = bytes.number<std::uint16_t>(at), length = bytes.number<std::uint16_t>(at + 2);
        std::uint64_t field = at + 4;
        if (id == 1)
            for (std::uint64_t* value : {&record.size, &record.packed, &record.local})
                if (*value == 0xffffffff && field + 8 <= std::min(end, at + 4 + length)) {
                    *value = bytes.number<std::uint64_t>(field);
                    field += 8;
                }
        at += 4u + length;
    }
}

CentralRecord read_central(const Bytes& bytes, std::uint64_t at) {
    bytes.need(at, kCentralSize);
    if (bytes.number<std::uint32_t>(at) != kCentral) bytes.throw_unreadable("the zip archive has a damaged directory");
    CentralRecord record;
    record.flags = bytes.number<std::uint16_t>(at + 8);
    record.method = bytes.number<std::uint16_t>(at + 10);
    record.packed = bytes.number<std::uint32_t>(at + 20);
    record.size = bytes.number<std::uint32_t>(at + 24);
    record.local = bytes.number<std::uint32_t>(at + 42);
    const std::uint64_t name = bytes.number<std::uint16_t>(at + 28), extra = bytes.number<std::uint16_t>(at + 30),
                        comment = bytes.number<std::uint16_t>(at + 32);
    record.name = bytes.text(at + kCentralSize, name);
    widen(bytes, at + kCentralSize + name, at + kCentralSize + name + extra, record);
    record.next = at + kCentralSize + name + extra + comment;
    return record;
}

/// Where a member lies; the header before it must say the same as the directory, which other programs may read instead.
ZipMember locate(const Bytes& bytes, const CentralRecord& record) {
    constexpr std::uint16_t kEncrypted = 0x2041;  // bits 0 and 6, and 13 for the directory; torch sets 3 and 11
    bytes.need(record.local, kLocalSize);
    if (bytes.number<std::uint32_t>(record.local) != kLocal)
        bytes.throw_unreadable("member " + record.name + " has no header where the zip directory says");
    const auto flags = bytes.number<std::uint16_t>(record.local + 6),
               method = bytes.number<std::uint16_t>(record.local + 8),
               name = bytes.number<std::uint16_t>(record.local + 26);
    if (record.method != 0 || method != 0 || ((record.flags | flags) & kEncrypted) != 0)
        bytes.throw_unreadable("member " + record.name +
                               " is compressed or encrypted, expected it stored as torch writes it");
    if (record.packed != record.size)
        bytes.throw_unreadable("member " + record.name + " has " + std::to_string(record.size) + " bytes stored as " +
                               std::to_string(record.packed) + ", expected the same number");
    const std::string local_name = bytes.text(record.local + kLocalSize, name);
    if (local_name != record.name)
        bytes.throw_unreadable("member " + record.name + " is " + local_name + " in its own header, expected one name");
    const std::uint64_t offset = record.local + kLocalSize + name + bytes.number<std::uint16_t>(record.local + 28);
    bytes.need(offset, record.size);  // so both fit into a size_t, as the file does
    return {static_cast<std::size_t>(offset), static_cast<std::size_t>(record.size)};
}

/// Bytes of a file that belong to one member.
struct MemberSpan {
    std::uint64_t begin = 0, end = 0;
    std::string name;
};

/// No byte belongs to two members, or to a member and the directory: a small file cannot be many large members.
void check_member_overlap(const Bytes& bytes, std::vector<MemberSpan> spans, std::uint64_t directory) {
    std::sort(spans.begin(), spans.end(), [](const MemberSpan& a, const MemberSpan& b) { return a.begin < b.begin; });
    for (std::size_t n = 0; n < spans.size(); ++n) {
        const bool last = n + 1 == spans.size();
        if (spans[n].end > (last ? directory : spans[n + 1].begin))
            bytes.throw_unreadable("member " + spans[n].name + " overlaps " +
                                   (last ? "the zip directory" : "member " + spans[n + 1].name));
    }
}

}  // namespace

bool looks_like_zip(const MappedFile& file) {
    return file.size() >= 4 && std::memcmp(file.data(), &kLocal, sizeof kLocal) == 0;
}

std::map<std::string, ZipMember> read_zip_directory(const MappedFile& file) {
    const Bytes bytes(file);
    const Directory directory = find_directory(bytes);
    std::map<std::string, ZipMember> members;
    std::vector<MemberSpan> spans;
    std::uint64_t at = directory.offset;
    for (std::uint64_t n = 0; n < directory.count; ++n) {
        const CentralRecord record = read_central(bytes, at);
        const ZipMember member = locate(bytes, record);
        if (!members.emplace(record.name, member).second)
            bytes.throw_unreadable("member " + record.name + " is there twice");
        spans.push_back({record.local, member.offset + member.size, record.name});
        at = record.next;
    }
    if (at - directory.offset != directory.size)
        bytes.throw_unreadable("the zip archive has a directory of " + std::to_string(directory.size) + " bytes, but " +
                               std::to_string(directory.count) + " members fill " +
                               std::to_string(at - directory.offset));
    check_member_overlap(bytes, std::move(spans), directory.offset);
    return members;
}

}  // namespace locus
