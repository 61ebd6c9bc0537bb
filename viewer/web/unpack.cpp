// Unpacks the files of the site, in a worker beside the page (page/unpack.js).
#include <lzma.h>

#include <cstddef>
#include <cstdint>

/// An .xz file of `packed_size` bytes into the `size` bytes at `out` that it was made of.  False: it is damaged, or of
/// another size.
extern "C" bool unpack(const std::uint8_t* packed, std::size_t packed_size, std::uint8_t* out, std::size_t size) {
    std::uint64_t most_memory = UINT64_MAX;
    std::size_t read = 0, written = 0;
    return lzma_stream_buffer_decode(&most_memory, 0, nullptr, packed, &read, packed_size, out, &written, size) ==
               LZMA_OK &&
           read == packed_size && written == size;
}
