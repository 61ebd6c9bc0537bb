// web-kit SOURCE FOLDER: the kit that comes along, of the cases that lie in the source tree SOURCE.  Under node.
#include <cstdio>
#include <exception>

#include "core/conformance/kit/export.h"

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("web-kit takes the source tree and a new folder\n", stderr);
        return 2;
    }
    try {
        locus::conformance::export_kit(argv[2], argv[1]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "web-kit: %s\n", error.what());
        return 3;
    }
    return 0;
}
