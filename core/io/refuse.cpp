#include "core/io/refuse.h"

#include "core/io/printable.h"

namespace locus {

void refuse(const std::string& place, const std::string& what, Fault fault) {
    throw Error(fault, printable(place) + ": " + printable(what));
}

}  // namespace locus
